"""`jostle status`: how a campaign is doing, asked from outside."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from jostle.cli.display import coverage_text, failing_text, findings_text
from jostle.cli.flags import AsJson
from jostle.cli.terminal import output
from jostle.storage.overview import Overview, overview_of
from jostle.triage.words import counted
from jostle.visible import visible

UNKNOWN = "not known yet"


def status(
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` writes or wrote to.")],
    as_json: AsJson = False,
) -> None:
    """Say how a campaign is doing, running or finished, without disturbing it; writes nothing."""
    overview = overview_of(campaign)
    if as_json:
        print(json.dumps(_as_json(overview)))
    else:
        output().print(_table(overview), soft_wrap=True)


def _as_json(overview: Overview) -> dict[str, Any]:
    return {**asdict(overview), "statistics": dict(overview.statistics.content)}


def _table(overview: Overview) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in _lines(overview).items():
        table.add_row(f"[bold]{name}[/bold]", escape(visible(value)))
    return table


def _lines(overview: Overview) -> dict[str, str]:
    statistics = overview.statistics
    newest = "none" if overview.newest is None else f"{overview.newest[0]}: {overview.newest[1]}"
    return {
        "at work": "a process is at work in it" if overview.at_work else "no process is at work in it",
        "executions": f"{overview.executions:,} in {counted(overview.steps, 'step')}",
        "time": _figure(statistics.seconds, ",.1f", " s"),
        "rate": _figure(statistics.executions_per_second, ",.0f", "/s"),
        "corpus": _figure(statistics.corpus, ",", " inputs"),
        "coverage": UNKNOWN if statistics.coverage is None else coverage_text(statistics.coverage, statistics.counted),
        "findings": findings_text(overview.findings),
        "failing tests": failing_text(overview.failing_kept, overview.failing) if overview.failing else "none",
        "flaky": findings_text(overview.flaky),
        "quarantined": f"{overview.quarantined:,}",
        "newest finding": newest,
        "last written": _when(statistics.written),
    }


def _figure(value: float | None, form: str, unit: str) -> str:
    return UNKNOWN if value is None else f"{value:{form}}{unit}"


def _when(moment: datetime | None) -> str:
    if moment is None:
        return UNKNOWN
    ago = (datetime.now(UTC) - moment).total_seconds()
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {max(0.0, ago):,.0f} s ago"

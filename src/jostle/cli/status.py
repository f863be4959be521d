"""`jostle status`: how a campaign is doing, asked from outside."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeGuard

import typer
from rich.markup import escape
from rich.table import Table

from jostle.cli.display import coverage_text, findings_text
from jostle.cli.flags import AsJson
from jostle.cli.terminal import output, visible
from jostle.storage.overview import Overview, overview_of

UNKNOWN = "not known yet"


def status(
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` writes or wrote to.")],
    as_json: AsJson = False,
) -> None:
    """Say how a campaign is doing, running or finished, without disturbing it; writes nothing."""
    overview = overview_of(campaign)
    if as_json:
        print(json.dumps(asdict(overview)))
    else:
        output().print(_table(overview), soft_wrap=True)


def _table(overview: Overview) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in _lines(overview).items():
        table.add_row(f"[bold]{name}[/bold]", escape(visible(value)))
    return table


def _lines(overview: Overview) -> dict[str, str]:
    told = overview.statistics
    newest = "none" if overview.newest is None else f"{overview.newest[0]}: {overview.newest[1]}"
    return {
        "at work": "a process is at work in it" if overview.at_work else "no process is at work in it",
        "executions": f"{overview.executions:,} in {overview.steps:,} steps",
        "time": _figure(told.get("seconds"), ",.1f", " s"),
        "rate": _figure(told.get("executions_per_second"), ",.0f", "/s"),
        "corpus": _figure(told.get("corpus"), ",", " inputs"),
        "coverage": _coverage(told.get("coverage")),
        "findings": findings_text(overview.findings),
        "flaky": findings_text(overview.flaky),
        "quarantined": f"{overview.quarantined:,}",
        "newest finding": newest,
        "last written": _when(told.get("written")),
    }


def _figure(value: object, form: str, unit: str) -> str:
    try:
        return f"{value:{form}}{unit}" if isinstance(value, int | float) else UNKNOWN
    except OverflowError:  # an integer that no float holds, which nobody but a vandal writes
        return UNKNOWN


def _coverage(value: object) -> str:
    try:
        return coverage_text(value) if _is_coverage(value) else UNKNOWN
    except OverflowError:
        return UNKNOWN


def _is_coverage(value: object) -> TypeGuard[dict[str, dict[str, float]]]:
    return isinstance(value, dict) and all(
        isinstance(figures, dict) and all(isinstance(figure, int | float) for figure in figures.values())
        for figures in value.values()
    )


def _when(written: object) -> str:
    try:
        moment = datetime.fromisoformat(str(written))
        ago = (datetime.now(UTC) - moment).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return UNKNOWN
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {max(0.0, ago):,.0f} s ago"

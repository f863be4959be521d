"""`jostle tmin`: findings, as small as they can be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.progress import shown
from jostle.cli.replay import FINDINGS_HELP
from jostle.cli.terminal import output, say
from jostle.commands.tmin import Smaller, smaller
from jostle.composition.settle import FUZZ
from jostle.lineage import Mutation
from jostle.storage.finding_record import ChangeSizes
from jostle.visible import visible


@taking(FUZZ, ["budget", "timeout", "rss_limit", "trust_model"])
def tmin(
    flags: Flags,
    findings: Annotated[list[Path], typer.Argument(help=FINDINGS_HELP, metavar="FINDING")],
    as_json: AsJson = False,
) -> None:
    """Make findings smaller: fewer mutations, smaller ones, nearer to the seed, plainer values; the same bug each time.

    Those that were minimised before are left alone, so the same command goes on where the time was over.
    """
    moving = Console(stderr=True, quiet=as_json)
    results = smaller(findings, FUZZ.parsed(FUZZ.read(flags)), partial(shown, moving, "minimising findings"))
    if as_json:
        print(json.dumps({"findings": [one.as_json() for one in results], "left": sum(one.left for one in results)}))
    else:
        _print(output(), results)


def _print(console: Console, results: Sequence[Smaller]) -> None:
    table = Table(box=None, padding=(0, 2))
    for heading in ("finding", "L2 before", "after", "values changed", "mutations"):
        table.add_column(heading, justify="left" if heading in ("finding", "mutations") else "right")
    for result in results:
        table.add_row(escape(visible(result.folder.name)), *map(escape, _figures(result)))
    console.print(table, soft_wrap=True)
    for line in _remarks(results):
        say(console, line)


def _figures(result: Smaller) -> list[str]:
    way = _steps(result.steps)
    if result.after is None or result.before is None:
        return [_size(result.before), "not minimised", "", way]
    left = "" if result.steps_left in (None, result.steps) else f" → {_steps(result.steps_left or ())}"
    changed = f"{result.before.changed:,} → {result.after.changed:,}"
    return [_size(result.before), _size(result.after), changed, way + left]


def _steps(steps: Sequence[Mutation]) -> str:
    return visible("; ".join(map(str, steps)))


def _size(sizes: ChangeSizes | None) -> str:
    return "" if sizes is None else f"{sizes.euclidean:.3g}"


def _remarks(results: Sequence[Smaller]) -> list[str]:
    ratios = [
        one.after.euclidean / one.before.euclidean
        for one in results
        if one.after is not None and one.before is not None and one.before.euclidean > 0
    ]
    lines = [f"median L2 after / before: {median(ratios):.2f}"] if ratios else []
    before = sum(not one.worked_on and not one.left and one.after is not None for one in results)
    if before:
        lines.append(f"{before:,} had been minimised before, and were left alone")
    left = sum(one.left for one in results)
    if left:
        lines.append(f"{left:,} are left, because the time was over: the same command goes on, --budget gives more")
    return lines

"""`jostle triage`: what a campaign's findings come down to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson
from jostle.cli.terminal import output, say
from jostle.commands.triage import Triaged
from jostle.commands.triage import triage as triaged
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS
from jostle.triage.words import counted
from jostle.visible import visible

CLASSES_HELP = 'File with the names of classes: one a line, a JSON list, or {"0": "cat"}'


def triage(
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` or `jostle frameworks` wrote to.")],
    classes: Annotated[Path | None, typer.Option("--classes", help=f"{CLASSES_HELP}.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Group the findings of a campaign to defects, and write defects.json and a folder for each, with a script.

    Reads the folder only: no model is loaded, and no code is executed.
    """
    result = triaged(campaign, classes)
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        print_defects(output(), result)


def print_defects(console: Console, result: Triaged, most: int | None = None) -> None:
    """One line a defect, in words: at most so many, those that matter most first, unstable ones apart."""
    for line in _remarks(result):
        say(console, line)
    stable = [defect for defect in result.defects if defect.unstable is None]
    unstable = [defect for defect in result.defects if defect.unstable is not None]
    if not result.defects:
        say(console, "no findings, so no defects")
    if stable:
        say(console, f"{counted(len(stable), 'defect')} in {counted(_findings(stable), 'finding')}")
        _print(console, stable, most)
    if unstable:
        say(console, f"{counted(len(unstable), 'defect')} that only some runs show")
        _print(console, unstable, most)
    if result.defects and not result.at_work:
        say(console, f"scripts that show them: {result.folder / DEFECTS}")


def _remarks(result: Triaged) -> Iterator[str]:
    yield from result.warnings
    if result.at_work:
        yield "the campaign is running: this is what it has found so far, and nothing was written"
    elif result.unfinished:
        yield f"{counted(result.unfinished, 'finding')} not finished: let the campaign go on to have the model asked"
    failing = result.failing
    if 0 < failing.kept < failing.met:
        yield f"{failing.kept:,} of {failing.met:,} failing tests were kept, and those are counted here"
    if failing.unreadable > 0:
        yield f"{counted(failing.unreadable, 'failing test')} cannot be read and left out: let the campaign go on"
    if result.unreadable:
        yield f"{counted(result.unreadable, 'finding')} cannot be read and left out"


def _print(console: Console, defects: Sequence[Defect], most: int | None) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2))
    for defect in defects[:most]:
        rate = "" if defect.unstable is None else f"{defect.unstable:.0%} of runs"
        tests = "" if defect.failing_tests is None else counted(defect.failing_tests, "failing test")
        cells = (defect.title, counted(defect.seeds, "seed"), tests, rate, defect.name)
        table.add_row(*(escape(visible(cell)) for cell in cells))
    console.print(table, soft_wrap=True)
    if most is not None and len(defects) > most:
        say(console, f"  … and {len(defects) - most:,} more")


def _findings(defects: Sequence[Defect]) -> int:
    return sum(len(defect.findings) for defect in defects)

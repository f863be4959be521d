"""`jostle tmin`: findings, as small as they can be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.progress import shown
from jostle.cli.replay import FINDINGS_HELP, left_out_lines, unreadable_as_json
from jostle.cli.terminal import Exit, output, say, tell
from jostle.commands.tmin import Minimised, MinimisedFinding, Observer, minimise_findings
from jostle.composition.settle import FUZZ
from jostle.lineage import Mutation
from jostle.session.interrupts import stopping_gently
from jostle.storage.defects import DEFECTS
from jostle.storage.finding_record import ChangeSizes
from jostle.storage.step_words import step_words
from jostle.triage.words import counted
from jostle.visible import visible

NOT_CHANGED = "–"  # in place of sizes, where an input was moved and not one value changed besides


@taking(FUZZ, ["budget", "timeout", "rss_limit", "sandbox", "trust_model"])
def tmin(
    flags: Flags,
    findings: Annotated[list[Path], typer.Argument(help=FINDINGS_HELP, metavar="FINDING")],
    as_json: AsJson = False,
) -> Exit:
    """Make findings smaller: fewer mutations, smaller ones, nearer to the seed, plainer values; the same bug each time.

    Those that were minimised before are left alone, so the same command goes on where the time was over or Ctrl-C
    ended it. The campaign's defects, with their scripts and pictures, are written anew. Exit code: 2 if interrupted.
    """
    console, moving = Console(stderr=True), Console(stderr=True, quiet=as_json)
    progress = partial(shown, moving, "minimising findings")
    with stopping_gently(tell) as asked:
        observer = Observer(progress, lambda: asked.stop, partial(say, moving), partial(say, console))
        done = minimise_findings(findings, FUZZ.parsed(FUZZ.read(flags)), observer)
    if as_json:
        print(json.dumps(_as_json(done)))
    else:
        _print(output(), done)
    return Exit.INTERRUPTED if done.stopped else Exit.CLEAN


def _as_json(done: Minimised) -> dict[str, Any]:
    return {
        "findings": [one.as_json() for one in done.findings],
        "left": sum(one.left for one in done.findings),
        "unreadable": unreadable_as_json(done.unreadable),
    }


def _print(console: Console, done: Minimised) -> None:
    results = done.findings
    table = Table(box=None, padding=(0, 2))
    for heading in ("finding", "L2 before", "after", "values changed", "mutations"):
        table.add_column(heading, justify="left" if heading in ("finding", "mutations") else "right")
    for result in results:
        table.add_row(escape(visible(result.folder.name)), *map(escape, _figures(result)))
    console.print(table, soft_wrap=True)
    for line in _remarks(done):
        say(console, line)


def _figures(result: MinimisedFinding) -> list[str]:
    way = _steps(result.steps)
    if result.after is None or result.before is None:
        return [_size(result.before), "not minimised", "", way]
    left = "" if result.steps_left in (None, result.steps) else f" → {_steps(result.steps_left or ())}"
    if not result.before.changed and not result.after.changed:
        return [NOT_CHANGED, NOT_CHANGED, NOT_CHANGED, way + left]
    changed = f"{result.before.changed:,} → {result.after.changed:,}"
    return [_size(result.before), _size(result.after), changed, way + left]


def _steps(steps: Sequence[Mutation]) -> str:
    return visible("; ".join(map(step_words, steps)))


def _size(sizes: ChangeSizes | None) -> str:
    return "" if sizes is None else f"{sizes.euclidean:.3g}"


def _remarks(done: Minimised) -> list[str]:
    results = done.findings
    ratios = [
        one.after.euclidean / one.before.euclidean
        for one in results
        if one.after is not None and one.before is not None and one.before.euclidean > 0
    ]
    of_whom = f"of {counted(len(ratios), 'finding')} whose values changed"
    lines = [f"median L2 after / before: {median(ratios):.2f} ({of_whom})"] if ratios else []
    before = sum(not one.worked_on and not one.left and one.after is not None for one in results)
    if before:
        lines.append(f"{counted(before, 'finding')} left alone, because minimised before")
    left = sum(one.left for one in results)
    if left and done.stopped:
        lines.append(f"{left:,} left, because it was interrupted: the same command goes on from here")
    elif left:
        lines.append(f"{left:,} left, because the time was over: the same command goes on, --budget gives more")
    written = [f"scripts that show them: {one.folder / DEFECTS}" for one in done.triaged if one.defects]
    return [*lines, *left_out_lines(done.unreadable), *written]

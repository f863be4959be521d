"""`jostle coverage`: how much of a model some data covers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.display import figure_text
from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.progress import shown
from jostle.cli.terminal import output
from jostle.commands.coverage_meter import EVERY, criteria_named, measured
from jostle.commands.options_taken import OF_COVERAGE
from jostle.composition.settle import FUZZ
from jostle.feedback.coverage_parts import MEASURED, PROFILED
from jostle.options.campaign import DATA_HELP
from jostle.profile import counted_text

Data = Annotated[str, typer.Argument(help=f"{DATA_HELP}.")]


@in_subprocess_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
@taking(FUZZ, OF_COVERAGE, argument="model", required=True)
def coverage(
    flags: Flags,
    data: Data,
    criteria: Annotated[str, typer.Option(help=f"{', '.join(MEASURED)} with commas between, or all.")] = EVERY,
    as_json: AsJson = False,
) -> None:
    """Measure how much of a model some data covers, by neuron criteria; fuzzes nothing.

    Without --profile, `all` means the criteria that need none: nc, tknc, bknc, nlc and sscov.
    """
    names = criteria_named(criteria, flags["profile"] is not None)
    left_out = [name for name in PROFILED if criteria == EVERY and name not in names]
    console = Console(stderr=True, quiet=as_json)
    given = FUZZ.parsed({**FUZZ.read(flags), "seeds": data})
    with in_sandbox(given):
        meter = measured(given, names, lambda doing: partial(shown, console, doing))
    console.print(f"counted: {counted_text(meter.layers)}", highlight=False, soft_wrap=True)
    if meter.profile is not None:
        console.print(meter.profile.explained(), highlight=False, soft_wrap=True)
    _report(meter.coverage(), left_out, console, as_json)


def _report(figures: Mapping[str, Mapping[str, float]], left_out: list[str], console: Console, as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures))
        return
    table = Table("criterion", "covered", "more", box=None, padding=(0, 2))
    for name, values in figures.items():
        more = ", ".join(f"{key} {figure_text(key, value)}" for key, value in values.items() if key != "covered")
        covered = figure_text("covered", values["covered"]) if "covered" in values else ""
        table.add_row(name, covered, more)
    output().print(table)
    if left_out:
        console.print(f"left out without --profile: {', '.join(left_out)}", highlight=False, soft_wrap=True)

"""`jostle compare`: several campaigns of one model side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson
from jostle.cli.terminal import output, say, tell
from jostle.commands.compare_campaigns import GroupsCompared, RunGroup, compare_campaigns
from jostle.report.curves import SHARES
from jostle.triage.words import counted
from jostle.visible import visible


def compare(
    campaigns: Annotated[
        list[Path], typer.Argument(help="Folders that `jostle fuzz` wrote to, of one model.", metavar="CAMPAIGN…")
    ],
    as_json: AsJson = False,
) -> None:
    """Show campaigns of one model side by side: criteria, schedulers, recipes or mutators, with --seed as repeats.

    Groups are compared by Mann-Whitney's test. Reads the folders only: no model is loaded, and no code is executed. A
    model and its twins are compared by `jostle fuzz --twin`, models on one campaign's tests by `jostle evaluate`.
    """
    compared = compare_campaigns(campaigns)
    if as_json:
        print(json.dumps(compared.as_json()))
        return
    for warning in compared.warnings:
        tell(warning)
    output().print(_groups(compared))
    if compared.pairs:
        output().print(_pairs(compared))
    say(output(), _note(compared))


def _groups(compared: GroupsCompared) -> Table:
    figures = (escape(visible(name)) for name in compared.figures)  # which a folder names, and it may be a stranger's
    table = Table("campaigns", "runs", *figures, box=None, padding=(0, 2))
    for group in compared.groups:
        values = (_figure(group, name) for name in compared.figures)
        table.add_row(escape(visible(group.name)), f"{len(group.runs):,}", *values)
    return table


def _figure(group: RunGroup, name: str) -> str:
    spread = group.spread(name)
    if spread is None:
        return "–"
    share = name.rpartition(": ")[2] in SHARES
    middle, low, high = (
        f"{value:.1%}" if share else f"{value:,.6g}" for value in (spread.median, spread.smallest, spread.largest)
    )
    return f"{middle} ({low} to {high})" if low != high else middle


def _pairs(compared: GroupsCompared) -> Table:
    table = Table("figure", "of", "against", "is", "p", "A12", box=None, padding=(0, 2))
    for pair in compared.pairs:
        names = (escape(visible(name)) for name in (pair.figure, pair.one, pair.other))
        table.add_row(*names, pair.test.verdict, f"{pair.test.p:.3f}", f"{pair.test.a12:.2f}")
    return table


def _note(compared: GroupsCompared) -> str:
    if len(compared.groups) == 1:
        return "the campaigns differ in their random seed only, so there is nothing to compare them by"
    told = f"medians, smallest to largest in brackets; {counted(len(compared.pairs), 'comparison')}, each p by itself"
    if all(pair.test.enough for pair in compared.pairs):
        return told
    return f"{told}; with so few runs p cannot be below 0.05: give four or more of each, with --seed 0, 1, 2 …"

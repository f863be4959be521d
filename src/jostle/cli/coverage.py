"""`jostle coverage`: how much of a model some data covers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli import options
from jostle.cli.display import figure_text
from jostle.cli.in_subprocess import apart_if_from_file
from jostle.cli.progress import shown
from jostle.cli.terminal import output
from jostle.commands.coverage_meter import CoverageMeter
from jostle.config import Settings, checked
from jostle.session.instrument import load_seeded
from jostle.session.parts import NEURON_CRITERIA, RANGED
from jostle.session.profiles import data_parts, profile_named

EVERY = "all"


@apart_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
def coverage(
    model: options.Model,
    data: options.Data,
    weights: options.Weights = None,
    criteria: Annotated[str, typer.Option(help="nc, kmnc, nbc, snac, tknc, bknc with commas between, or all.")] = EVERY,
    profile: options.Profile = None,
    sections: options.Sections = None,
    buckets: options.Buckets = None,
    top: options.Top = None,
    active: options.Active = None,
    layers: options.Layers = None,
    units: options.Units = None,
    range: options.Range = None,
    mean: options.Mean = None,
    std: options.Std = None,
    channels: options.Channels = None,
    size: options.Size = None,
    batch: options.Batch = None,
    trust_model: options.TrustModel = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how much of a model some data covers, by neuron criteria; fuzzes nothing.

    Without --profile, `all` means the criteria that need none: nc, tknc and bknc.
    """
    given = options.given({name: value for name, value in locals().items() if name not in NOT_SETTINGS})
    names, left_out = _chosen(criteria, profile)
    settings = Settings(model, data, **given)
    console = Console(stderr=True, quiet=as_json)
    meter = CoverageMeter(load_seeded(settings, model, settings.weights), names, **given)
    for part in data_parts(settings, data, partial(shown, console, "measuring")):
        if meter.profile is None and profile is not None and set(names) & set(RANGED):
            watched = meter.watched(part.inputs)
            meter.profile = profile_named(settings, profile, watched, partial(shown, console, "profiling"))
        meter.add(part.inputs)
    if meter.profile is not None:
        console.print(meter.profile.explained(), highlight=False, soft_wrap=True)
    _report(meter.coverage(), left_out, console, as_json)


NOT_SETTINGS = ("model", "data", "criteria", "profile", "as_json")


def _chosen(criteria: str, profile: str | None) -> tuple[list[str], list[str]]:
    """The criteria to measure, and those that `all` leaves out for want of a profile."""
    if criteria != EVERY:
        return list(checked("coverage", criteria)), []
    left_out = [] if profile else RANGED
    return [name for name in NEURON_CRITERIA if name not in left_out], left_out


def _report(figures: Mapping[str, Mapping[str, float]], left_out: list[str], console: Console, as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures))
        return
    table = Table("criterion", "covered", "more", box=None, padding=(0, 2))
    for name, values in figures.items():
        more = ", ".join(f"{key} {figure_text(key, value)}" for key, value in values.items() if key != "covered")
        table.add_row(name, figure_text("covered", values["covered"]), more)
    output().print(table)
    if left_out:
        console.print(f"left out without --profile: {', '.join(left_out)}", highlight=False, soft_wrap=True)

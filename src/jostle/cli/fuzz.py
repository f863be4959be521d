"""`jostle fuzz`: run a campaign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from jostle.campaign import Summary
from jostle.cli.consoles import output
from jostle.cli.display import Display
from jostle.cli.exits import Exit
from jostle.cli.stopping import stopping_gently
from jostle.cli.summary import print_summary
from jostle.config import Settings, resolve
from jostle.recipes.assembly import Assembled, assemble, budget_of


def fuzz(
    model: Annotated[
        str | None, typer.Argument(help="FILE.py:function, package.module:function, or a .pt2 file.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Folder of images, .npy/.npz file, or FILE.py:function.")] = None,
    recipe: Annotated[str | None, typer.Option(help="tensorfuzz (default) or random; see `jostle list`.")] = None,
    oracle: Annotated[
        str | None, typer.Option(help="What counts as a defect: nan,crash,flip,agree,FILE.py:function.")
    ] = None,
    twin: Annotated[
        str | None, typer.Option(help="float16, bfloat16, weights16, int8, FILE.py:function or a .pt2 file.")
    ] = None,
    agree: Annotated[str | None, typer.Option(help="When twins agree: argmax, topK or a tolerance like 1e-3.")] = None,
    coverage: Annotated[
        str | None,
        typer.Option(help="What guides: nearest, or magnitude (default when only NaNs and crashes are sought)."),
    ] = None,
    distance: Annotated[str | None, typer.Option(help="Of activations: euclidean (default) or cosine.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Distance above which activations are new; calibrated on the seeds if left out."),
    ] = None,
    scheduler: Annotated[str | None, typer.Option(help="Whom to mutate: recent (default), smooth or uniform.")] = None,
    newest: Annotated[int | None, typer.Option(help="How many of the newest entries `recent` prefers (5).")] = None,
    recency: Annotated[
        float | None, typer.Option(help="Of `smooth`: 0 is breadth-first, towards 1 depth-first (0.5).")
    ] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of the noise (a tenth of the range).")] = None,
    radius: Annotated[
        float | None,
        typer.Option(help="Largest change from the root seed (flip: a tenth of the range)."),
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers to watch and to guide by: 'conv*,fc1'.")] = None,
    units: Annotated[
        str | None, typer.Option(help="A neuron is the mean of a channel (channels) or every unit.")
    ] = None,
    metadata: Annotated[
        str | None,
        typer.Option(help="FILE.py:function of (inputs, outputs, labels) to {name: a value per input}."),
    ] = None,
    gradients: Annotated[
        bool | None, typer.Option("--gradients", help="Watch the gradients of the metadata too.")
    ] = None,
    range: Annotated[str | None, typer.Option(help="Lowest and highest input value (0,1).")] = None,
    mean: Annotated[str | None, typer.Option(help="Per channel; subtracted before the model.")] = None,
    std: Annotated[str | None, typer.Option(help="Per channel; divided by before the model.")] = None,
    channels: Annotated[int | None, typer.Option(help="Read image files as 1 (grey) or 3 (colour) channels.")] = None,
    size: Annotated[str | None, typer.Option(help="Resize image files to HEIGHT,WIDTH.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time such as 60s, 10m, 2h (60s unless --executions).")] = None,
    executions: Annotated[int | None, typer.Option(help="Inputs to run.")] = None,
    findings: Annotated[int | None, typer.Option(help="Stop after the step that reaches so many.")] = None,
    batch: Annotated[int | None, typer.Option(help="Inputs run at once (256).")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all randomness; the same seed gives the same campaign (0).")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Campaign folder; the same command goes on in it.")] = None,
    trust_model: Annotated[
        bool | None, typer.Option("--trust-model", help="Load a pickled model, which can execute code.")
    ] = None,
    force: Annotated[bool | None, typer.Option("--force", help="Fuzz although a pre-flight check has doubts.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, nothing else.")] = False,
) -> Exit:
    """Fuzz a model from seeds; every setting can also stand in jostle.toml or pyproject.toml.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran.
    """
    flags = {name: value for name, value in locals().items() if name != "as_json"}
    return run_campaign(resolve(flags, Path.cwd()), as_json)


def run_campaign(settings: Settings, as_json: bool) -> Exit:
    """Runs the campaign with a display, prints what came of it, and says how it ended."""
    console, moving = Console(stderr=True), Console(stderr=True, quiet=as_json)
    display = Display(moving, budget_of(settings))
    assembled = assemble(settings, [display])
    _announce(console, assembled, quiet=as_json)
    with display, stopping_gently(assembled.campaign) as asked:
        assembled.campaign.run(assembled.history)
    summary = assembled.campaign.summary()
    assembled.archive.write_status(summary.seconds)
    assembled.archive.close()
    ran = summary.executions - (assembled.history.executions if assembled.history else 0)
    if not ran:
        console.print("the budget was spent before, so nothing more ran: give more to go on", highlight=False)
    if asked.stop:
        console.print("interrupted; the same command goes on from here", highlight=False)
    if not summary.corpus:
        console.print("every seed violates an oracle, so there was nothing to mutate", highlight=False)
    _report(summary, assembled, as_json)
    return Exit.INTERRUPTED if asked.stop else _exit(summary, ran)


def _announce(console: Console, assembled: Assembled, quiet: bool) -> None:
    for warning in assembled.flight.warnings:
        console.print(f"warning: {warning}", highlight=False, soft_wrap=True, markup=False)
    if quiet:
        return
    flight = assembled.flight
    accuracy = "" if flight.accuracy is None else f", accuracy {flight.accuracy:.1%}"
    console.print(f"{len(flight.seeds)} seeds{accuracy}, layers watched: {len(assembled.watched)}", highlight=False)
    if assembled.history is not None:
        console.print(f"going on after {assembled.history.executions:,} executions", highlight=False)


def _report(summary: Summary, assembled: Assembled, as_json: bool) -> None:
    if as_json:
        print(json.dumps({**summary.as_json(), "out": str(assembled.archive.folder)}))
    else:
        print_summary(output(), summary, assembled.archive.folder)


def _exit(summary: Summary, ran: int) -> Exit:
    """Findings on record count, also those of earlier runs; without any, only a run that ran something is clean."""
    if summary.findings:
        return Exit.FINDINGS
    return Exit.CLEAN if ran else Exit.NOTHING_RAN

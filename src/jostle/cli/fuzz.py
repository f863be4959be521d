"""`jostle fuzz`: run a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from jostle.cli import options
from jostle.cli.display import Display
from jostle.cli.progress import shown
from jostle.cli.stopping import stopping_gently
from jostle.cli.summary import print_summary
from jostle.cli.terminal import Exit, output, say
from jostle.config import Settings, resolve
from jostle.records import Summary
from jostle.session.assemble import Assembled, assemble, budget_of, is_full


def fuzz(
    model: Annotated[str | None, typer.Argument(help=options.MODEL_HELP)] = None,
    seeds: Annotated[str | None, typer.Option(help=options.DATA_HELP)] = None,
    weights: options.Weights = None,
    recipe: Annotated[
        str | None, typer.Option(help="tensorfuzz (default), deephunter, dlfuzz, deepxplore or random.")
    ] = None,
    oracle: Annotated[
        str | None, typer.Option(help="What counts as a defect: nan,crash,flip,agree,differ,FILE.py:function.")
    ] = None,
    twin: Annotated[
        str | None,
        typer.Option(help="float16, bfloat16, weights16, weights16:50%, int8, FILE.py:function or a .pt2 file."),
    ] = None,
    agree: Annotated[str | None, typer.Option(help="When twins agree: argmax, topK or a tolerance like 1e-3.")] = None,
    models: Annotated[str | None, typer.Option(help="Other models of the same task, for deepxplore.")] = None,
    mutator: Annotated[
        str | None, typer.Option(help="noise, metamorphic (image transformations), gradient, or several.")
    ] = None,
    coverage: Annotated[
        str | None,
        typer.Option(help="What guides: nearest, magnitude, nc, kmnc, nbc, snac, tknc, bknc, or several."),
    ] = None,
    profile: options.Profile = None,
    sections: options.Sections = None,
    buckets: options.Buckets = None,
    top: options.Top = None,
    active: options.Active = None,
    levels: options.Levels = None,
    distance: Annotated[str | None, typer.Option(help="Of activations: euclidean (default) or cosine.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Distance above which activations are new; calibrated on the seeds if left out."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Whom to mutate: recent, smooth, uniform, pool, seldom, list or adaptive.")
    ] = None,
    newest: Annotated[int | None, typer.Option(help="How many of the newest entries `recent` prefers (5).")] = None,
    recency: Annotated[
        float | None, typer.Option(help="Of `smooth`: 0 is breadth-first, towards 1 depth-first (0.5).")
    ] = None,
    fresh: Annotated[
        float | None, typer.Option(help="Share of the mutants made from seeds themselves (deephunter 0.5, else 0).")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Entries of a batch that `pool` mutates at once (64).")] = None,
    gamma: Annotated[float | None, typer.Option(help="How fast entries fuzzed before lose priority (5).")] = None,
    p_min: Annotated[float | None, typer.Option(help="The least priority (0.3).")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of the noise (a tenth of the range).")] = None,
    radius: Annotated[
        float | None,
        typer.Option(help="Largest change from the root seed (flip: a tenth of the range)."),
    ] = None,
    transforms: Annotated[
        str | None, typer.Option(help="Of `metamorphic`: 'rotation=-15:15,noise,blur' (all eight).")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Share of values that may change by any amount (0.02).")] = None,
    beta: Annotated[float | None, typer.Option(help="Share of the range that all values may change by (0.2).")] = None,
    tries: Annotated[int | None, typer.Option(help="Tries for a meaningful transformation (50).")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Which neurons `gradient` activates: frequent, rare, heavy, near, uncovered.")
    ] = None,
    neurons: Annotated[int | None, typer.Option(help="How many neurons `gradient` activates (10).")] = None,
    balance: Annotated[float | None, typer.Option(help="What a neuron weighs beside the label (0.25).")] = None,
    others: Annotated[int | None, typer.Option(help="Other classes that `gradient` heads for (4).")] = None,
    perturbation: Annotated[
        str | None, typer.Option(help="How gradients change inputs: gradient, sign, light, occlusion, blackout.")
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Gradient steps for each entry of the list (3).")] = None,
    limit: Annotated[
        float | None, typer.Option(help="Relative distance from the root below which mutants join the list (0.02).")
    ] = None,
    reach: Annotated[float | None, typer.Option(help="Largest relative distance from the root (0.3).")] = None,
    desired: Annotated[
        float | None, typer.Option(help="Share of coverage that a mutant must add to join the list (0.01).")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="How often `list` goes through its entries (no limit).")] = None,
    depth: Annotated[
        int | None, typer.Option(help="Generations below its seed that an entry of `list` may be (no limit).")
    ] = None,
    as_images: Annotated[
        bool | None,
        typer.Option("--as-images/--not-as-images", help="Findings must survive rounding to 8 bits (dlfuzz: yes)."),
    ] = None,
    minimise: Annotated[
        bool | None, typer.Option("--minimise/--no-minimise", help="Shrink what changed at the end (dlfuzz: yes).")
    ] = None,
    layers: options.Layers = None,
    units: options.Units = None,
    metadata: Annotated[
        str | None,
        typer.Option(help="FILE.py:function of (inputs, outputs, labels) to {name: a value per input}."),
    ] = None,
    gradients: Annotated[
        bool | None, typer.Option("--gradients", help="Watch the gradients of the metadata too.")
    ] = None,
    range: options.Range = None,
    mean: options.Mean = None,
    std: options.Std = None,
    channels: options.Channels = None,
    size: options.Size = None,
    budget: Annotated[str | None, typer.Option(help="Time such as 60s, 10m, 2h (60s unless --executions).")] = None,
    executions: Annotated[int | None, typer.Option(help="Inputs to run.")] = None,
    findings: Annotated[int | None, typer.Option(help="Stop after the step that reaches so many.")] = None,
    max_disk: Annotated[
        str | None, typer.Option(help="Stop after the step that fills the campaign folder so far: 500M, 2G.")
    ] = None,
    batch: options.Batch = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all randomness; the same seed gives the same campaign (0).")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Campaign folder; the same command goes on in it.")] = None,
    trust_model: options.TrustModel = None,
    force: Annotated[bool | None, typer.Option("--force", help="Fuzz although a pre-flight check has doubts.")] = None,
    isolate: Annotated[
        bool | None,
        typer.Option("--isolate/--no-isolate", help="Run the model in a process of its own (model files: yes)."),
    ] = None,
    timeout: options.Timeout = None,
    rss_limit: options.RssLimit = None,
    as_json: options.AsJson = False,
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
    assembled = assemble(settings, [display], partial(shown, moving, "profiling"))
    archive, warnings = assembled.archive, assembled.archive.quarantine.warnings
    try:
        _announce(console, assembled, quiet=as_json)
        before = len(warnings)
        with display, stopping_gently(assembled.campaign) as asked:
            summary = assembled.campaign.run(assembled.history, archive.repair)
        _warn(console, warnings[before:])
        full = is_full(archive, settings)  # before the log is emptied, which makes room again
        archive.conclude(summary)
        if summary.findings and not asked.stop:  # else the same command does it when it goes on
            moving.print("finishing the findings: how large, what the model says, pictures", highlight=False)
            assembled.finisher.finish(archive.folder, partial(shown, moving, "finishing findings"))
        archive.close()
    finally:
        assembled.release()
    ran = summary.executions - (assembled.history.executions if assembled.history else 0)
    for line in _endings(summary, assembled, ran, full, asked.stop):
        say(console, line)
    _report(summary, assembled, as_json)
    return Exit.INTERRUPTED if asked.stop else _exit(summary, ran)


def _endings(summary: Summary, assembled: Assembled, ran: int, full: bool, stopped: bool) -> Iterator[str]:
    """What the user should know about how the run ended."""
    if full:
        yield f"{assembled.archive.folder} has reached --max-disk: give more to go on"
    if not ran and not full:
        yield "the budget was spent before, so nothing more ran: give more to go on"
    if stopped:
        yield "interrupted; the same command goes on from here"
    if not summary.corpus:
        yield "every seed violates an oracle, so there was nothing to mutate"


def _announce(console: Console, assembled: Assembled, quiet: bool) -> None:
    _warn(console, [*assembled.flight.warnings, *assembled.archive.quarantine.warnings])
    if quiet:
        return
    flight = assembled.flight
    accuracy = "" if flight.accuracy is None else f", accuracy {flight.accuracy:.1%}"
    console.print(f"{len(flight.seeds)} seeds{accuracy}, layers watched: {len(assembled.watched)}", highlight=False)
    if assembled.profile is not None:
        console.print(assembled.profile.explained(), highlight=False, soft_wrap=True)
    if assembled.history is not None:
        console.print(f"going on after {assembled.history.executions:,} executions", highlight=False)


def _warn(console: Console, warnings: Sequence[str]) -> None:
    for warning in warnings:
        say(console, f"warning: {warning}")


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

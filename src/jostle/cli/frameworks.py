"""`jostle frameworks`: fuzz the libraries that run models, and write reproducers of what they get wrong."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from jostle.campaign import Budget
from jostle.cli import options
from jostle.cli.display import Display
from jostle.cli.progress import shown
from jostle.cli.stopping import stopping_gently
from jostle.cli.summary import print_summary
from jostle.cli.terminal import Exit, output, say
from jostle.frameworks.campaign.options import FrameworkSettings, framework_settings
from jostle.records import Summary
from jostle.session.assemble_frameworks import Assembled, assemble
from jostle.session.finish_frameworks import finish


def frameworks(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models to begin from: .onnx or .json files, folders of them, FILE.py:function that returns "
            "(torch module, example input), or cnn, residual, mlp, rnn, lstm, gru, attention, upsampler, operators "
            "(all of these)."
        ),
    ] = None,
    backends: Annotated[
        str | None,
        typer.Option(help="Who is compared, such as torch,jax,onnxruntime@/other/bin/python (torch,onnxruntime)."),
    ] = None,
    phase: Annotated[str | None, typer.Option(help="What is compared: predict, train, or both (predict).")] = None,
    operators: Annotated[str | None, typer.Option(help="What new layers are made of: conv,max_pool (all).")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How edits are chosen: greedy, genetic, mcmc, bandit, random (greedy).")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Whom to mutate: by score, or depth or breadth first (score).")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="What a model's coverage, late discovery and few mutations weigh (1,1,1).")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Models to each one that torch-inductor gets (20).")] = None,
    line_coverage: Annotated[
        bool | None, typer.Option("--line-coverage", help="Watch the lines of frameworks' own Python too (2x slower).")
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="TOML file of findings that are known, by signature, with a reason.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time such as 60s, 10m, 2h (60s unless --executions).")] = None,
    executions: Annotated[int | None, typer.Option(help="Models to run, after all to begin from have.")] = None,
    findings: Annotated[int | None, typer.Option(help="Stop after the step that reaches so many.")] = None,
    max_disk: Annotated[
        str | None, typer.Option(help="Stop after the step that fills the campaign folder so far: 500M, 2G.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Models run at once (8).")] = None,
    seed: Annotated[int | None, typer.Option(help="Of all randomness (0).")] = None,
    out: Annotated[str | None, typer.Option(help="Campaign folder; the same command goes on in it.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Longest time for one model on one backend (30s).")] = None,
    rss_limit: Annotated[
        str | None, typer.Option(help="Most memory of one backend, such as 2G (3/4 of the machine's).")
    ] = None,
    as_json: options.AsJson = False,
) -> Exit:
    """Fuzz deep-learning frameworks: mutate models, run them everywhere, report who is wrong with a short script.

    Exit code: 0 nothing found, 1 findings, 2 interrupted, 3 our own error, 4 wrong usage, 5 nothing ran.
    """
    flags = {name: value for name, value in locals().items() if name != "as_json"}
    return run_frameworks(framework_settings({**flags, "models": models or None}), as_json)


def run_frameworks(settings: FrameworkSettings, as_json: bool) -> Exit:
    """Runs the campaign with a display, finishes its findings, and says how it ended."""
    console, moving = Console(stderr=True), Console(stderr=True, quiet=as_json)
    display = Display(moving, Budget(settings.budget, settings.executions, settings.findings))
    told = f"starting {', '.join(settings.backends)}: frameworks take seconds to import"
    assembled = assemble(settings, [display], partial(say, moving, told))
    try:
        _announce(moving, assembled)
        with display, stopping_gently(assembled.campaign) as asked:
            summary = assembled.campaign.run(assembled.history, assembled.archive.repair)
        assembled.archive.conclude(summary)
        if summary.findings and not asked.stop:  # else the same command does it when it goes on
            say(moving, "finishing the findings: smaller models, scripts that reproduce them")
            finish(assembled, partial(shown, moving, "finishing findings"))
        assembled.archive.close()
    finally:
        assembled.release()
    for line in _endings(summary, assembled, asked.stop):
        say(console, line)
    _report(summary, assembled, as_json)
    if asked.stop:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if summary.findings else Exit.CLEAN if _ran(summary, assembled) else Exit.NOTHING_RAN


def _announce(console: Console, assembled: Assembled) -> None:
    for backend, versions in assembled.panel.versions().items():
        say(console, f"{backend}: {', '.join(f'{package} {number}' for package, number in versions.items())}")
    say(console, f"models to begin from: {len(assembled.seeds)}")
    for warning in assembled.archive.quarantine.warnings:
        say(console, f"warning: {warning}")
    if assembled.history is not None:
        say(console, f"going on after {assembled.history.executions:,} executions")


def _ran(summary: Summary, assembled: Assembled) -> int:
    return summary.executions - (assembled.history.executions if assembled.history else 0)


def _endings(summary: Summary, assembled: Assembled, stopped: bool) -> list[str]:
    examiner = assembled.examiner
    said = {
        f"{examiner.known_seen} times a finding was met that --known lists": examiner.known_seen > 0,
        f"{examiner.doubted} times most backends agreed against the float64 reference: not reported": (
            examiner.doubted > 0
        ),
        "the budget was spent before, so nothing more ran: give more to go on": not _ran(summary, assembled),
        "interrupted; the same command goes on from here": stopped,
        "every model to begin from shows a defect, so there was nothing to mutate": not summary.corpus,
    }
    return [line for line, holds in said.items() if holds]


def _report(summary: Summary, assembled: Assembled, as_json: bool) -> None:
    if as_json:
        told = {"known": assembled.examiner.known_seen, "doubted": assembled.examiner.doubted}
        print(json.dumps({**summary.as_json(), **told, "out": str(assembled.archive.folder)}))
    else:
        print_summary(output(), summary, assembled.archive.folder)

"""`jostle evaluate`: a campaign's tests on other models."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.terminal import output, say
from jostle.commands.evaluate import EVALUATED, KEPT, TESTS, Evaluation
from jostle.commands.evaluate import evaluate as scored
from jostle.commands.options_taken import OF_CONSENT
from jostle.composition.settle import ON_FOLDER
from jostle.options.kinds import MOST_REPEATS
from jostle.session.isolate import named_models
from jostle.session.reopen import given_in, recorded_campaign
from jostle.triage.words import counted

OF_EVALUATE = ("model", "weights", "tokenizer", "seeds", *OF_CONSENT)
QUANTISED = ("weights16:1%", "weights16:50%", "weights16")


@in_subprocess_if_from_file(
    lambda campaign, models, model, **_: [
        *([model] if model else named_models(recorded_campaign(campaign).given)),
        *(models or ()),
    ]
)
@taking(ON_FOLDER, OF_EVALUATE)
def evaluate(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.")],
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Models or twins (weights16:50%, int8, …); if none is given, three 16-bit twins."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=MOST_REPEATS, help="Draws of a twin with random weights, averaged.")
    ] = 5,
    all_seeds: Annotated[
        bool, typer.Option("--all-seeds", help="Count seeds too that some model gets wrong, and tests made of them.")
    ] = False,
    tests: Annotated[
        str,
        typer.Option(help="Which tests: those kept (the model passes them), failing, or all.", metavar="|".join(TESTS)),
    ] = KEPT,
    as_json: AsJson = False,
) -> None:
    """Run the tests of a campaign on other models, and show their accuracy beside that on the seeds.

    Only seeds that all models get right count, and tests made of them, unless --all-seeds is given.
    """
    changes, models = ON_FOLDER.parsed(ON_FOLDER.read(flags)), models or list(QUANTISED)
    with in_sandbox(given_in(campaign, changes, *EVALUATED), models):
        evaluation = scored(campaign, models, repeats, changes, all_seeds, tests)
    if as_json:
        print(json.dumps(asdict(evaluation)))
    else:
        output().print(_table(evaluation))
        say(output(), _left_out(evaluation, all_seeds))


def _left_out(evaluation: Evaluation, all_seeds: bool) -> str:
    if all_seeds:
        return "counted: all seeds that the campaign began from, whichever other model gets them wrong"
    seeds, tests = counted(evaluation.seeds_left_out, "seed"), counted(evaluation.tests_left_out, "test")
    return f"left out: {seeds} that another model gets wrong and {tests} made of them (--all-seeds counts them)"


def _table(evaluation: Evaluation) -> Table:
    table = Table(
        "model",
        f"accuracy on {counted(evaluation.seeds, 'seed')}",
        f"on {evaluation.tests:,} tests" + ("" if evaluation.tests_from == KEPT else f" ({evaluation.tests_from})"),
        "seeds answered otherwise",
        "tests answered otherwise",
        box=None,
        padding=(0, 2),
    )
    for score in evaluation.scores:
        table.add_row(
            score.model,
            f"{score.seeds_accuracy:.2%}",
            f"{score.tests_accuracy:.2%}",
            f"{score.seeds_unlike:,.4g}",
            f"{score.tests_unlike:,.4g}",
        )
    return table

"""`jostle retrain`: a model trained further on the failing tests of a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.progress import Part, shown
from jostle.cli.terminal import output
from jostle.commands.options_taken import OF_CONSENT
from jostle.commands.retrain import TRAINED, Retraining, TrainingOptions
from jostle.commands.retrain import retrain as trained
from jostle.commands.run_statistics import Spread
from jostle.composition.settle import ON_FOLDER
from jostle.options.kinds import LARGEST, MOST_HELD, MOST_REPEATS
from jostle.session.isolate import named_models
from jostle.session.reopen import given_in, recorded_campaign
from jostle.triage.words import counted

OF_RETRAIN = ("tokenizer", *OF_CONSENT)


@in_subprocess_if_from_file(
    lambda campaign, model, **_: [model] if model else named_models(recorded_campaign(campaign).given)
)
@taking(ON_FOLDER, OF_RETRAIN)
def retrain(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.")],
    data: Annotated[str, typer.Option(help="Labelled training data: folder of classes, .npz, FILE.py:function.")],
    model: Annotated[str | None, typer.Option(help="The model to train (the campaign's own).")] = None,
    test: Annotated[str | None, typer.Option(help="Labelled data to measure on (a part of --data).")] = None,
    epochs: Annotated[int, typer.Option(min=1, max=MOST_REPEATS, help="How often the data is gone through.")] = 5,
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    batch: Annotated[int, typer.Option(min=2, max=MOST_HELD, help="Inputs in a step of training.")] = 128,
    share: Annotated[float, typer.Option(help="Share of each batch that are failing tests.")] = 0.1,
    held_out: Annotated[float, typer.Option(help="Share of failing tests (and of --data) measured on only.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST - MOST_REPEATS, help="Of all randomness.")] = 0,
    repeats: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_REPEATS, help="Trainings with failing tests and as many without; the time grows with it."
        ),
    ] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Where to save: .safetensors (weights) or .pt2 (model); in the campaign.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a copy of the model on its data and on failing tests, and show what that did; nothing is overwritten.

    Beside it a control is trained: the same steps with as many clean inputs in place of failing tests, so that
    their gain can be told from that of more training. That makes two trainings for each repeat; the first is saved.
    """
    training = TrainingOptions(epochs, rate, batch, share, held_out, seed, repeats)
    progress = Counted(Console(stderr=True, quiet=as_json), 2 * repeats)
    changes = ON_FOLDER.parsed(ON_FOLDER.read(flags))
    given = given_in(campaign, changes if model is None else changes.over(model=model), *TRAINED)
    with in_sandbox(given, [data, *filter(None, [test])], writable=[campaign if out is None else out.parent]):
        result = trained(campaign, model, data, test, out, training, changes, progress)
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        _print(result)


class Counted:
    """A bar for each of several trainings, which says the how manieth it is."""

    def __init__(self, console: Console, trainings: int):
        self._console, self._trainings, self._begun = console, trainings, 0

    def __call__(self, parts: Iterable[Part], count: int, /) -> Iterable[Part]:
        self._begun += 1
        return shown(self._console, f"training {self._begun} of {self._trainings}", parts, count)


def _print(result: Retraining) -> None:
    names = ("accuracy on", "inputs", "before", "after", "control", "difference")
    table = Table(*names, box=None, padding=(0, 2))
    for name, count, measure in (
        ("held-out data", result.held_out, "clean"),
        ("failing tests from held-out seeds", result.unseen, "unseen"),
        ("failing tests trained on", result.findings, "trained"),
    ):
        shares = (getattr(result.before, measure), result.trained(measure).median, result.controls(measure).median)
        points = _points(result.difference(measure), len(result.repeats))
        table.add_row(name, f"{count:,}", *(f"{share:.2%}" for share in shares), points)
    console = output()
    console.print(table)
    note = partial(console.print, highlight=False, soft_wrap=True, markup=False)
    if len(result.repeats) > 1:
        note(f"medians of {len(result.repeats)} repeats; difference in points, smallest to largest in brackets")
    note("control: trained as long, with clean inputs in place of failing tests")
    note(result.verdict)
    if result.met:
        note(f"{counted(result.met, 'input')} of --test left out: trained on, or failing tests made of them are")
    if result.trained("clean").median < result.before.clean:
        note("accuracy on held-out data fell: give more of the training data, or a smaller --rate or --share")
    counts = f"{counted(result.data, 'input')} and {counted(result.findings, 'failing test')}"
    only = " (its findings: the folder keeps no others)" if result.findings_only else ""
    note(f"trained on {counts}{only}; the first repeat's model is saved to {result.out}")


def _points(difference: Spread, repeats: int) -> str:
    middle, low, high = (
        f"{100 * value:+.2f}" for value in (difference.median, difference.smallest, difference.largest)
    )
    return f"{middle} ({low} to {high})" if repeats > 1 else middle

"""`jostle retrain`: a model trained further on what a campaign found."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.in_subprocess import in_subprocess_if_from_file
from jostle.cli.progress import shown
from jostle.cli.terminal import output
from jostle.commands.retrain import Retraining, TrainingOptions
from jostle.commands.retrain import retrain as trained
from jostle.composition.settle import FUZZ
from jostle.session.isolate import named_models
from jostle.session.reopen import reopen
from jostle.triage.words import counted


@in_subprocess_if_from_file(lambda campaign, model, **_: [model] if model else named_models(reopen(campaign).given))
@taking(FUZZ, ["trust_model"])
def retrain(
    flags: Flags,
    campaign: Annotated[Path, typer.Argument(help="Folder that `jostle fuzz` wrote to.")],
    data: Annotated[str, typer.Option(help="Labelled training data: folder of classes, .npz, FILE.py:function.")],
    model: Annotated[str | None, typer.Option(help="The model to train (the campaign's own).")] = None,
    test: Annotated[str | None, typer.Option(help="Labelled data to measure on (a part of --data).")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often the data is gone through.")] = 5,
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    batch: Annotated[int, typer.Option(min=2, help="Inputs in a step of training.")] = 128,
    share: Annotated[float, typer.Option(help="Share of each batch that are findings.")] = 0.1,
    held_out: Annotated[float, typer.Option(help="Share of findings (and of --data) measured on only.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where to save: .safetensors (weights) or .pt2 (model); in the campaign.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a copy of the model on its data and on the findings, and show what that did; nothing is overwritten."""
    training = TrainingOptions(epochs, rate, batch, share, held_out, seed)
    progress = partial(shown, Console(stderr=True, quiet=as_json), "retraining")
    result = trained(campaign, model, data, test, out, training, bool(flags["trust_model"]), progress)
    if as_json:
        print(json.dumps(asdict(result)))
    else:
        _print(result)


def _print(result: Retraining) -> None:
    table = Table("accuracy on", "inputs", "before", "after", box=None, padding=(0, 2))
    for name, count, measure in (
        ("held-out data", result.held_out, "clean"),
        ("findings from held-out seeds", result.unseen, "unseen"),
        ("findings trained on", result.findings, "trained"),
    ):
        before, after = getattr(result.before, measure), getattr(result.after, measure)
        table.add_row(name, f"{count:,}", f"{before:.2%}", f"{after:.2%}")
    console = output()
    console.print(table)
    if result.after.clean < result.before.clean:
        console.print("accuracy on held-out data fell: give more of the training data, or a smaller --rate or --share")
    console.print(
        f"trained on {counted(result.data, 'input')} and {counted(result.findings, 'finding')}; saved to {result.out}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )

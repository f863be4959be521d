"""A model trained further on failing tests of a campaign (DLFuzz §4.2), and a control trained as long on clean data.

Training further may raise accuracy whatever it is on. What failing tests add is the difference from a copy of the
model that takes the same steps, at the same rate, on the same batches, with as many clean inputs in place of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.commands.run_statistics import Spread
from jostle.commands.training_data import Labelled, split_data, split_failing
from jostle.errors import ModelRefused, OutputRefused, SeedsRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import ModelTarget
from jostle.options.campaign import InputOptions, ModelOptions
from jostle.options.kinds import LARGEST, MOST_HELD, MOST_REPEATS, shown
from jostle.options.resources import BatchOptions
from jostle.options.schema import NOTHING_ELSE, Given
from jostle.progress import Progress, quietly
from jostle.randomness import randomness, seeded
from jostle.session.reopen import reopen
from jostle.storage.files import write_whole
from jostle.subjects.models import load_seeded
from jostle.subjects.subject import Trainable, Watch

LARGEST_RATE = 1e30  # beyond which float32 cannot hold what Adam makes of it
MEASURES = ("clean", "unseen", "trained")


WHOLE_NUMBERS = (
    *(("epochs", 1, MOST_REPEATS), ("repeats", 1, MOST_REPEATS)),
    *(("batch", 2, MOST_HELD), ("seed", 0, LARGEST - MOST_REPEATS)),
)

TRAINED = ("model", "tokenizer")  # what is loaded of all that a campaign names


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained further."""

    epochs: int = 5
    rate: float = 1e-3  # of Adam
    batch: int = 128
    share: float = 0.1  # of every batch that are failing tests
    held_out: float = 0.2  # share of the data, and of the failing tests' seeds, that is measured on and not trained on
    seed: int = 0
    repeats: int = 3  # each trains two models: on failing tests, and the control

    def __post_init__(self) -> None:
        for name in ("share", "held_out"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: give a share above 0 and below 1")
        if not 0 < self.rate <= LARGEST_RATE:
            raise UsageError(f"--rate {self.rate}: give a learning rate above 0, such as 0.001")
        for name, low, high in WHOLE_NUMBERS:
            if not low <= getattr(self, name) <= high:
                raise UsageError(f"--{name} {shown(getattr(self, name))}: give at least {low} and at most {high}")


@dataclass(frozen=True)
class Accuracy:
    """How much of each set a model gets right."""

    clean: float  # data held out
    unseen: float  # failing tests from seeds that were held out
    trained: float  # failing tests trained on


@dataclass(frozen=True)
class TrainedPair:
    """One repeat: a model trained on failing tests, and its control, which differ in nothing else."""

    after: Accuracy
    control: Accuracy


@dataclass(frozen=True)
class Retraining:
    """What training further came to, and what as much training on clean data comes to."""

    data: int  # inputs trained on besides failing tests
    held_out: int  # inputs measured on
    met: int  # inputs of --test that were left out, because they or failing tests made of them are trained on
    findings: int  # failing tests trained on
    unseen: int  # failing tests measured on only
    findings_only: bool  # these are one for each bug, because the campaign keeps no others
    before: Accuracy
    repeats: tuple[TrainedPair, ...]
    out: str

    @property
    def after(self) -> Accuracy:
        """Of the model that was saved, which is the first repeat's."""
        return self.repeats[0].after

    @property
    def control(self) -> Accuracy:
        """Of the first repeat."""
        return self.repeats[0].control

    def trained(self, measure: str) -> Spread:
        return Spread.of([getattr(pair.after, measure) for pair in self.repeats])

    def controls(self, measure: str) -> Spread:
        return Spread.of([getattr(pair.control, measure) for pair in self.repeats])

    def difference(self, measure: str) -> Spread:
        """What failing tests add to as much training on clean data, repeat by repeat."""
        return Spread.of([getattr(pair.after, measure) - getattr(pair.control, measure) for pair in self.repeats])

    @property
    def verdict(self) -> str:
        """What of the change on held-out data is due to failing tests, in words."""
        gain = self.trained("clean").median - self.before.clean
        above = self.difference("clean").smallest > 0
        if gain <= 0 and above:
            kept = "fell by less than" if gain < 0 else "stayed, and fell"
            return f"accuracy on held-out data {kept} with clean inputs in place of failing tests"
        if gain <= 0:
            return "failing tests add nothing to the accuracy on held-out data"
        if not above:
            return (
                "the gain on held-out data is that of more training: as many clean inputs in place of failing tests "
                "give it too"
            )
        if len(self.repeats) == 1:
            return "the gain on held-out data is above that of more training, once: --repeats tells whether it stays so"
        return f"the gain on held-out data is above that of more training in each of {len(self.repeats)} repeats"

    def as_json(self) -> dict[str, Any]:
        first = {"after": asdict(self.after), "control": asdict(self.control)}
        spread = {measure: asdict(self.difference(measure)) for measure in MEASURES}
        return {**asdict(self), **first, "difference": spread, "verdict": self.verdict}


def retrain(
    folder: Path,
    model: str | None,
    data: str,
    test: str | None,
    out: Path | None,
    training: TrainingOptions,
    changes: Given = NOTHING_ELSE,
    progress: Progress = quietly,
) -> Retraining:
    """Trains copies of the model on the data, with the campaign's failing tests and without; the first is saved."""
    typed = changes if model is None else changes.over(model=model)
    given = reopen(folder, typed, *TRAINED)
    if model is not None:
        given = given.over(weights=None)
    inputs = given.of(InputOptions)
    copied = _copies(given)
    untrained = copied()
    _check_out(out := out or folder / "retrained.safetensors", untrained)
    rng = torch.Generator().manual_seed(training.seed)
    failing = split_failing(folder, training.held_out, rng)
    split = split_data(inputs, data, test, failing.trained_seeds, training.held_out, rng)
    kept, measured = split.trained, split.measured
    _check(partial(_accuracy, untrained.target, given.of(BatchOptions).rows), kept, failing.trained)

    def accuracy(model: Trainable) -> Accuracy:
        on = partial(_accuracy, model.target, given.of(BatchOptions).rows)
        return Accuracy(*map(on, (measured, failing.unseen, failing.trained)))

    def trained(extra: Labelled, repeat: int) -> Trainable:
        fit(fresh := copied(), kept, extra, training, repeat, progress)
        return fresh

    before = accuracy(untrained)
    untrained.saved(out.suffix, measured.inputs[:1])  # what cannot be saved says so before hours of training
    models = ((trained(failing.trained, repeat), trained(kept, repeat)) for repeat in range(training.repeats))
    pairs: list[TrainedPair] = []
    content = b""
    for after, control in models:
        content = content or after.saved(out.suffix, measured.inputs[:1])
        pairs.append(TrainedPair(accuracy(after), accuracy(control)))
    write_whole(out, content, synced=True)
    return Retraining(
        data=len(kept),
        held_out=len(measured),
        met=split.met,
        findings=len(failing.trained),
        unseen=len(failing.unseen),
        findings_only=failing.findings_only,
        before=before,
        repeats=tuple(pairs),
        out=str(out),
    )


def _copies(given: Given) -> Callable[[], Trainable]:
    """Makes copies of the model that options name, each to be trained by itself."""
    options, inputs = given.of(ModelOptions), given.of(InputOptions)
    subject = load_seeded(given, options.model, options.weights)
    if subject.batch is not None:
        raise ModelRefused(f"{options.model} takes only batches of {subject.batch}: export it with a dynamic batch")
    return partial(subject.trainable, Watch(mean=inputs.mean, std=inputs.std))


def _check(accuracy: Callable[[Labelled], float], data: Labelled, failing: Labelled) -> None:
    """Data must be as failing tests are, and of the model's classes."""
    if data.inputs.shape[1:] != failing.inputs.shape[1:]:
        raise SeedsRefused(
            f"--data has inputs of shape {list(data.inputs.shape[1:])}, the campaign's seeds "
            f"{list(failing.inputs.shape[1:])}: give data as its seeds are"
        )
    accuracy(data.select(data.labels.argmax()[None]))  # the largest label


def fit(
    model: Trainable,
    data: Labelled,
    extra: Labelled,
    training: TrainingOptions,
    repeat: int = 0,
    progress: Progress = quietly,
) -> None:
    """Trains the model; every batch holds the wanted share of extra inputs: failing tests, or more of the data.

    Batches hold the same rows of the data in the same order, whatever is extra, and dropout draws the same.
    """
    order, choice = randomness(training.seed, 2 * repeat), randomness(training.seed, 2 * repeat + 1)
    extras = min(training.batch - 1, max(1, round(training.share * training.batch)))
    plain = training.batch - extras

    def chosen() -> Iterator[Tensor]:
        for _ in range(training.epochs):
            yield from torch.randperm(len(data), generator=order).split(plain)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        for rows in progress(chosen(), training.epochs * len(data)):
            some = extra.select(torch.randint(len(extra), (extras,), generator=choice))
            clean = data.select(rows)
            yield torch.cat([clean.inputs, some.inputs]), torch.cat([clean.labels, some.labels])

    seeded(training.seed + repeat, lambda: model.train(batches(), training.rate))


def _accuracy(target: ModelTarget, batch: int, data: Labelled) -> float:
    parts = [attempt(partial(target.predict, some)) for some in data.inputs.split(batch)]
    for part in parts:
        if isinstance(part, Crash):
            raise ModelRefused(
                f"the model fails on data of shape {list(data.inputs.shape[1:])} ({part.error}: {part.message}): give "
                f"data as the campaign's seeds are"
            )
    outputs = torch.cat([part for part in parts if isinstance(part, Tensor)])
    if outputs.ndim != 2 or int(data.labels.max()) >= outputs.shape[1]:
        raise ModelRefused(
            f"the model gives outputs of shape {list(outputs.shape[1:])} for labels up to {int(data.labels.max())}: "
            f"give a classifier, and data of its classes"
        )
    return float((outputs.argmax(1) == data.labels).float().mean())


def _check_out(out: Path, trained: Trainable) -> None:
    if out.suffix not in trained.suffixes:
        raise OutputRefused(f"--out {out}: give a file that ends in {' or '.join(trained.suffixes)}")
    if out.exists():
        raise OutputRefused(f"{out} exists and is not overwritten: give another --out")
    if not out.parent.is_dir():
        raise OutputRefused(f"--out {out}: its folder does not exist: make it first")

"""A model trained further on what a campaign found (DLFuzz §4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import ModelRefused, OutputRefused, SeedsRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.domains import domain_of
from jostle.inputs.preflight import check_inside, check_normalisation
from jostle.inputs.seeds import load_seeds
from jostle.interfaces import ModelTarget
from jostle.options.campaign import BatchOptions, InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.progress import Progress, quietly
from jostle.records import NO_LABEL, NO_PARENT
from jostle.session.load import seed_form
from jostle.session.reopen import reopen
from jostle.storage.files import write_whole
from jostle.storage.findings import FINDINGS, read_finding, recorded
from jostle.subjects.models import load_seeded
from jostle.subjects.subject import Trainable, Watch
from jostle.triage.words import counted


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained further."""

    epochs: int = 5
    rate: float = 1e-3  # of Adam
    batch: int = 128
    share: float = 0.1  # of every batch that are findings
    held_out: float = 0.2  # share of the data, and of the findings' seeds, that is measured on and not trained on
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("share", "held_out"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: give a share above 0 and below 1")
        if not 0 < self.rate < math.inf:
            raise UsageError(f"--rate {self.rate}: give a learning rate above 0")


@dataclass(frozen=True)
class Labelled:
    """Inputs [n, ...] with the classes they belong to [n]."""

    inputs: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: Tensor) -> Labelled:
        return Labelled(self.inputs[rows], self.labels[rows])


@dataclass(frozen=True)
class Accuracy:
    """How much of each set a model gets right."""

    clean: float  # data held out
    unseen: float  # findings from seeds that were held out
    trained: float  # findings trained on


@dataclass(frozen=True)
class Retraining:
    """What training further came to."""

    data: int  # inputs trained on besides findings
    held_out: int  # inputs measured on
    findings: int  # trained on
    unseen: int  # findings measured on only
    before: Accuracy
    after: Accuracy
    out: str


def retrain(
    folder: Path,
    model: str | None,
    data: str,
    test: str | None,
    out: Path | None,
    training: TrainingOptions,
    trust_model: bool = False,
    progress: Progress = quietly,
) -> Retraining:
    """Trains a copy of the model on the data and on the campaign's findings, and saves it as a new file."""
    given = reopen(folder).given.over(trust_model=trust_model)
    if model is not None:
        given = given.over(model=model, weights=None)
    inputs = given.of(InputOptions)
    trained = _trainable(given, out := out or folder / "retrained.safetensors")
    rng = torch.Generator().manual_seed(training.seed)
    found, unseen = _split_findings(folder, training, rng)
    kept, measured = _split_data(inputs, data, test, training, rng)
    accuracy = partial(_accuracy, trained.target, given.of(BatchOptions).batch)
    _check(accuracy, kept, found)
    sets = (measured, unseen, found)
    before = Accuracy(*map(accuracy, sets))
    fit(trained, kept, found, training, rng, progress)
    after = Accuracy(*map(accuracy, sets))
    write_whole(out, trained.saved(out.suffix, measured.inputs[:1]), synced=True)
    return Retraining(len(kept), len(measured), len(found), len(unseen), before, after, str(out))


def _trainable(given: Given, out: Path) -> Trainable:
    """A copy of the model that options name, which can be trained and saved to this file."""
    options, inputs = given.of(ModelOptions), given.of(InputOptions)
    subject = load_seeded(given, options.model, options.weights)
    if subject.batch is not None:
        raise ModelRefused(f"{options.model} takes only batches of {subject.batch}: export it with a dynamic batch")
    trained = subject.trainable(Watch(mean=inputs.mean, std=inputs.std))
    if out.suffix not in trained.suffixes:
        raise OutputRefused(f"--out {out}: give a file that ends in {' or '.join(trained.suffixes)}")
    _check_free(out)
    return trained


def _check(accuracy: Callable[[Labelled], float], data: Labelled, findings: Labelled) -> None:
    """Data must be as findings are, and of the model's classes."""
    if data.inputs.shape[1:] != findings.inputs.shape[1:]:
        raise SeedsRefused(
            f"--data has inputs of shape {list(data.inputs.shape[1:])}, the campaign's seeds "
            f"{list(findings.inputs.shape[1:])}: give data as its seeds are"
        )
    accuracy(data.select(data.labels.argmax()[None]))  # the largest label


def fit(
    model: Trainable,
    data: Labelled,
    findings: Labelled,
    training: TrainingOptions,
    rng: torch.Generator,
    progress: Progress = quietly,
) -> None:
    """Trains the model; every batch holds the wanted share of findings."""
    adversarial = max(1, round(training.share * training.batch))
    plain = max(1, training.batch - adversarial)

    def chosen() -> Iterator[Tensor]:
        for _ in range(training.epochs):
            yield from torch.randperm(len(data), generator=rng).split(plain)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        for rows in progress(chosen(), training.epochs * len(data)):
            some = findings.select(torch.randint(len(findings), (adversarial,), generator=rng))
            clean = data.select(rows)
            yield torch.cat([clean.inputs, some.inputs]), torch.cat([clean.labels, some.labels])

    model.train(batches(), training.rate)


def _split_findings(folder: Path, training: TrainingOptions, rng: torch.Generator) -> tuple[Labelled, Labelled]:
    """Findings to train on and findings to measure on, from different seeds; a seed that fails itself is neither."""
    flips = [
        read_finding(place, record)
        for place, record in recorded(folder / FINDINGS)
        if record.kind == "flip" and record.parent != NO_PARENT
    ]
    for one in flips:
        if one.input.shape != flips[0].input.shape:
            raise OutputRefused(f"{one.folder} holds an input of another shape than the others: move the folder away")
    roots = sorted({one.record.root for one in flips})
    if len(roots) < 2:
        raise UsageError(
            f"the campaign in {folder} found changed labels from {counted(len(roots), 'seed')}, and some must be held "
            f"out: run jostle fuzz --recipe dlfuzz with more seeds"
        )
    if any("label" not in one.record.details for one in flips):
        raise UsageError(f"the model of the campaign in {folder} gives several labels at once, and training needs one")
    order = torch.randperm(len(roots), generator=rng).tolist()
    held = {roots[i] for i in order[: _held(training, len(roots))]}

    def labelled(held_out: bool) -> Labelled:
        chosen = [one for one in flips if (one.record.root in held) == held_out]
        labels = torch.tensor([one.record.label_change.label for one in chosen])
        return Labelled(torch.stack([one.input for one in chosen]), labels)

    return labelled(False), labelled(True)


def _split_data(
    inputs: InputOptions, data: str, test: str | None, training: TrainingOptions, rng: torch.Generator
) -> tuple[Labelled, Labelled]:
    known = _labelled(inputs, "--data", data)
    if test is not None:
        return known, _labelled(inputs, "--test", test)
    if len(known) < 2:
        raise SeedsRefused(
            f"--data {data} holds {counted(len(known), 'input')}, and some must be held out: give more, or --test"
        )
    order = torch.randperm(len(known), generator=rng)
    held = _held(training, len(known))
    return known.select(order[held:]), known.select(order[:held])


def _held(training: TrainingOptions, count: int) -> int:
    """How many of so many are held out: one at least, and not all."""
    return min(count - 1, max(1, round(training.held_out * count)))


def _labelled(inputs: InputOptions, option: str, spec: str) -> Labelled:
    form = seed_form(inputs)
    if not Path(spec).is_dir():  # arrays are as they are, however the campaign read its images
        form = replace(form, channels=None, size=None)
    seeds = load_seeds(spec, form)
    check_normalisation(inputs.mean, inputs.std, seeds.inputs.shape[1])
    check_inside(seeds, domain_of(seeds, inputs))
    if (seeds.labels == NO_LABEL).any():
        raise SeedsRefused(
            f"{option} {spec} has inputs without labels: give an .npz with x and y, folders named by class, or "
            f"FILE.py:function that returns both"
        )
    return Labelled(seeds.inputs, seeds.labels)


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


def _check_free(out: Path) -> None:
    if out.exists():
        raise OutputRefused(f"{out} exists and is not overwritten: give another --out")
    if not out.parent.is_dir():
        raise OutputRefused(f"--out {out}: its folder does not exist: make it first")

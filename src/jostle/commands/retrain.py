"""A model trained further on what a campaign found (DLFuzz §4.2)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from jostle.config import Settings
from jostle.errors import ModelRefused, OutputRefused, SeedsRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.inputs.seeds import load_seeds
from jostle.records import NO_LABEL, NO_PARENT
from jostle.scores import are_probabilities
from jostle.session.instrument import load_seeded
from jostle.session.load import check_normalisation, image_form
from jostle.session.preflight import check_range
from jostle.session.reopen import settings_of
from jostle.storage.files import write_whole
from jostle.storage.findings import FINDINGS, read_finding, recorded
from jostle.targets.torch_target import TorchTarget
from jostle.targets.values import first_tensor

SUFFIXES = (".safetensors", ".pt2")
# Shows how far work has come: (parts, how many inputs in all) -> the same parts
Progress = Callable[[Iterable[Tensor], int], Iterable[Tensor]]


def silently(parts: Iterable[Tensor], count: int) -> Iterable[Tensor]:
    return parts


@dataclass(frozen=True)
class Training:
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
    training: Training,
    trust_model: bool = False,
    progress: Progress = silently,
) -> Retraining:
    """Trains a copy of the model on the data and on the campaign's findings, and saves it beside nothing but itself."""
    settings, _ = settings_of(folder)
    settings = replace(settings, trust_model=trust_model)
    if model is not None:
        settings = replace(settings, model=model, weights=None)
    out = _free(out or folder / "retrained.safetensors")
    rng = torch.Generator().manual_seed(training.seed)
    found, unseen = _split_findings(folder, training, rng)
    kept, measured = _split_data(settings, data, test, training, rng)
    loaded = load_seeded(settings, settings.model, settings.weights)
    if loaded.batch is not None:
        raise ModelRefused(f"{settings.model} takes only batches of {loaded.batch}: export it with a dynamic batch")
    module = loaded.copy()
    target = TorchTarget(module, mean=settings.mean, std=settings.std)
    _check(settings, target, kept, found)
    sets = (measured, unseen, found)

    def accuracies() -> Accuracy:
        module.eval()
        return Accuracy(*(_accuracy(settings, target, some) for some in sets))

    before = accuracies()
    fit(module, target, kept, found, training, rng, progress)
    after = accuracies()
    _save(module.eval(), out, target.prepared(measured.inputs[:1]))
    return Retraining(len(kept), len(measured), len(found), len(unseen), before, after, str(out))


def _check(settings: Settings, target: TorchTarget, data: Labelled, findings: Labelled) -> None:
    """Data must be as findings are, and of the model's classes."""
    if data.inputs.shape[1:] != findings.inputs.shape[1:]:
        raise SeedsRefused(
            f"--data has inputs of shape {list(data.inputs.shape[1:])}, the campaign's seeds "
            f"{list(findings.inputs.shape[1:])}: give data as its seeds are"
        )
    _accuracy(settings, target, data.select(data.labels.argmax()[None]))  # the largest label


def fit(
    module: nn.Module,
    target: TorchTarget,
    data: Labelled,
    findings: Labelled,
    training: Training,
    rng: torch.Generator,
    progress: Progress = silently,
) -> None:
    """Trains the module in place; every batch holds the wanted share of findings."""
    if not any(weight.requires_grad for weight in module.parameters()):
        raise ModelRefused("the model has no weights that can be trained: name one that has with --model")
    optimiser = torch.optim.Adam([one for one in module.parameters() if one.requires_grad], training.rate)
    adversarial = max(1, round(training.share * training.batch))
    plain = max(1, training.batch - adversarial)

    def batches() -> Iterator[Tensor]:
        for _ in range(training.epochs):
            yield from torch.randperm(len(data), generator=rng).split(plain)

    module.train()
    for rows in progress(batches(), training.epochs * len(data)):
        some = findings.select(torch.randint(len(findings), (adversarial,), generator=rng))
        clean = data.select(rows)
        inputs, labels = torch.cat([clean.inputs, some.inputs]), torch.cat([clean.labels, some.labels])
        scores = first_tensor(module(target.prepared(inputs)))
        assert scores is not None, "it gave outputs before"
        optimiser.zero_grad()
        loss(scores, labels.to(scores.device)).backward()
        optimiser.step()


def loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, of probabilities too where a model ends in softmax."""
    if are_probabilities(scores.detach()).all():
        return functional.nll_loss(scores.clamp(min=1e-12).log(), labels)
    return functional.cross_entropy(scores, labels)


def _split_findings(folder: Path, training: Training, rng: torch.Generator) -> tuple[Labelled, Labelled]:
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
            f"the campaign in {folder} found changed labels from {len(roots)} seeds, and some must be held out: run "
            f"jostle fuzz --recipe dlfuzz with more seeds"
        )
    order = torch.randperm(len(roots), generator=rng).tolist()
    held = {roots[i] for i in order[: _held(training, len(roots))]}

    def labelled(held_out: bool) -> Labelled:
        chosen = [one for one in flips if (one.record.root in held) == held_out]
        labels = torch.tensor([one.record.label_change.label for one in chosen])
        return Labelled(torch.stack([one.input for one in chosen]), labels)

    return labelled(False), labelled(True)


def _split_data(
    settings: Settings, data: str, test: str | None, training: Training, rng: torch.Generator
) -> tuple[Labelled, Labelled]:
    known = _labelled(settings, "--data", data)
    if test is not None:
        return known, _labelled(settings, "--test", test)
    if len(known) < 2:
        raise SeedsRefused(f"--data {data} holds {len(known)} inputs, and some must be held out: give more, or --test")
    order = torch.randperm(len(known), generator=rng)
    held = _held(training, len(known))
    return known.select(order[held:]), known.select(order[:held])


def _held(training: Training, count: int) -> int:
    """How many of so many are held out: one at least, and not all."""
    return min(count - 1, max(1, round(training.held_out * count)))


def _labelled(settings: Settings, option: str, spec: str) -> Labelled:
    form = image_form(settings)
    if not Path(spec).is_dir():  # arrays are as they are, however the campaign read its images
        form = replace(form, channels=None, size=None)
    seeds = load_seeds(spec, form)
    check_normalisation(settings, seeds.inputs.shape[1])
    check_range(seeds, *settings.range)
    if (seeds.labels == NO_LABEL).any():
        raise SeedsRefused(
            f"{option} {spec} has inputs without labels: give an .npz with x and y, folders named by class, or "
            f"FILE.py:function that returns both"
        )
    return Labelled(seeds.inputs, seeds.labels)


def _accuracy(settings: Settings, target: TorchTarget, data: Labelled) -> float:
    parts = [attempt(partial(target.predict, some)) for some in data.inputs.split(settings.batch)]
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


def _free(out: Path) -> Path:
    if out.suffix not in SUFFIXES:
        raise OutputRefused(f"--out {out}: give a file that ends in {' or '.join(SUFFIXES)}")
    if out.exists():
        raise OutputRefused(f"{out} exists and is not overwritten: give another --out")
    if not out.parent.is_dir():
        raise OutputRefused(f"--out {out}: its folder does not exist: make it first")
    return out


def _save(module: nn.Module, out: Path, sample: Tensor) -> None:
    """The weights, or the whole model as an exported program."""
    if out.suffix == ".safetensors":
        state = {name: value.detach().clone().contiguous() for name, value in module.state_dict().items()}
        write_whole(out, safetensors.torch.save(state), synced=True)
        return
    exported = attempt(lambda: _exported(module, sample))
    if isinstance(exported, Crash):
        raise OutputRefused(
            f"the model cannot be exported ({exported.error}: {exported.message}): save as .safetensors"
        )
    write_whole(out, exported, synced=True)


def _exported(module: nn.Module, sample: Tensor) -> bytes:
    content, two = BytesIO(), torch.cat([sample, sample])  # with one row, its size would be taken for fixed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about what it does inside
        shapes = ({0: torch.export.Dim("batch", min=1)},)
        torch.export.save(torch.export.export(module, (two,), dynamic_shapes=shapes), content)
    return content.getvalue()

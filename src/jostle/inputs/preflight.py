"""Checks before fuzzing: a setting that would make every result meaningless is refused, with the fix named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import ModelTarget
from jostle.part import TRIED
from jostle.records import NO_LABEL, Seeds

MOST_DEATHS_OF_SEEDS = 16  # in all, because a process takes seconds to start
MOST_DEATHS = 4  # of processes that seeds end, before the same is taken to be so
SMALLEST_LABELLED_SET = 20  # below this, low accuracy may be chance
SUSPICIOUS_SPAN = 0.02  # of the declared range: 0..1 data declared as 0..255 spans 0.004


@dataclass(frozen=True)
class Flight:
    """Seeds cleared for fuzzing, labelled wherever the model's answer is a class, and what the user should know."""

    seeds: Seeds
    classes: int  # how many class scores the model gives, 0 if it gives none
    accuracy: float | None  # on labelled seeds
    warnings: tuple[str, ...]

    def warned(self, warning: str) -> Flight:
        """The same with one more thing that the user should know."""
        return replace(self, warnings=(*self.warnings, warning))


def preflight(
    target: ModelTarget, seeds: Seeds, low: float, high: float, batch: int, force: bool, training: bool = False
) -> Flight:
    """Clears seeds and model, or raises; with force, doubts become warnings.

    `training` tells that a layer of the model is in training mode.
    """
    check_range(seeds, low, high)
    accepted, output = _first_accepted(target, seeds)
    outputs = _outputs(target, seeds.inputs, batch, like=output)
    accuracy = _accuracy(outputs, seeds)
    labelled = _labelled(seeds, outputs)
    _check_runs(target, labelled, accepted)
    doubts = [*_doubts_about_span(seeds, low, high), *_doubts(training, target, seeds, outputs, accuracy)]
    if doubts and not force:
        raise PreflightFailed(f"{doubts[0]}, or --force to fuzz anyway")
    return Flight(labelled, outputs.shape[1] if gives_classes(outputs) else 0, accuracy, tuple(doubts))


def check_range(seeds: Seeds, low: float, high: float) -> None:
    """Seeds must lie in the declared range, because mutants will."""
    if not seeds.inputs.isfinite().all():
        worst = int((~seeds.inputs.flatten(1).isfinite().all(1)).nonzero()[0])
        raise PreflightFailed(f"seed {seeds.names[worst]} holds NaN or infinity: remove it")
    least, most = float(seeds.inputs.min()), float(seeds.inputs.max())
    if least < low or most > high:
        raise PreflightFailed(
            f"seeds hold values from {least:.9g} to {most:.9g}, outside the declared range {low:g} to {high:g}: "
            f"give --range {min(least, 0):.9g},{_likely_end(least, most):.9g} or rescale them"
        )


def check_images(seeds: Seeds) -> None:
    """Image transformations need [channels, height, width]."""
    shape = list(seeds.inputs.shape[1:])
    if len(shape) != 3:
        raise PreflightFailed(
            f"seeds of shape {shape} are no images [channels, height, width]: use --mutator noise for them"
        )
    if shape[2] in (1, 3, 4) and shape[0] > 4:
        raise PreflightFailed(
            f"seeds of shape {shape} have their channels last: move them first, x.transpose(0, 3, 1, 2), and let the "
            f"model take them so"
        )


def check_normalisation(mean: Sequence[float], std: Sequence[float], channels: int) -> None:
    """There is a mean and a standard deviation for each channel, one of each for all, or none."""
    if len(mean) != len(std) or len(mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(mean)} numbers, --std has {len(std)}: give both, with one number each "
            f"or one for each of the inputs' {channels} channels"
        )


def _likely_end(least: float, most: float) -> float:
    """The end of the range that such values probably have: of bytes, 255."""
    return 255 if least >= 0 and 1 < most <= 255 else max(most, 1)


def _first_accepted(target: ModelTarget, seeds: Seeds) -> tuple[int, Tensor]:
    """The first seed that the model does not fail on, and its output; a model that fails on many does not fit them."""
    crashes = []
    for position, seed in enumerate(seeds.inputs[:TRIED].split(1)):
        output = attempt(partial(target.predict, seed))
        if not isinstance(output, Crash):
            return position, output
        crashes.append(output)
        if sum(crash.fatal for crash in crashes) == MOST_DEATHS:
            break
    first = crashes[0]
    raise PreflightFailed(
        f"the model fails on seeds of shape {list(seeds.inputs.shape[1:])} ({first.error} in {first.where}: "
        f"{first.message}): check the seeds' shape, channels first; for image files --channels and --size"
    )


def _outputs(target: ModelTarget, inputs: Tensor, batch: int, like: Tensor) -> Tensor:
    """Outputs [seeds, ...], NaN for a seed that the model fails on alone: it will be a finding."""
    deaths: list[Crash] = []
    return torch.cat([_some_outputs(target, some, like, deaths) for some in inputs.split(batch)])


def _some_outputs(target: ModelTarget, inputs: Tensor, like: Tensor, deaths: list[Crash]) -> Tensor:
    outputs = attempt(partial(target.predict, inputs))
    if not isinstance(outputs, Crash):
        return outputs
    if outputs.fatal:
        deaths.append(outputs)
        if len(deaths) > MOST_DEATHS_OF_SEEDS:
            raise PreflightFailed(
                f"the model ends its process on many of the seeds ({outputs.error} in {outputs.where}): mend it, or "
                f"remove those seeds"
            )
    if len(inputs) == 1:
        return torch.full_like(like, torch.nan)
    parts = len(inputs) if outputs.fatal else 2  # a process takes long to start, rows are quick to run
    return torch.cat([_some_outputs(target, part, like, deaths) for part in inputs.tensor_split(parts)])


def _check_runs(target: ModelTarget, seeds: Seeds, accepted: int) -> None:
    """One seed through everything that is watched, so that a broken metadata function shows here."""
    for crash in target.run(seeds.as_candidates().select(torch.tensor([accepted]))).crashes.values():
        raise PreflightFailed(
            f"the twin or --metadata fails on a seed that the model accepts ({crash.error} in {crash.where}: "
            f"{crash.message}): fix that function"
        )


def _doubts_about_span(seeds: Seeds, low: float, high: float) -> Iterator[str]:
    least, most = float(seeds.inputs.min()), float(seeds.inputs.max())
    if low == 0 and len(seeds) > 1 and most - least < SUSPICIOUS_SPAN * high:
        yield f"seeds span only {least:g} to {most:g} of the declared {low:g} to {high:g}: give their real --range"


def _doubts(
    training: bool, target: ModelTarget, seeds: Seeds, outputs: Tensor, accuracy: float | None
) -> Iterator[str]:
    if training:
        yield "a layer is in training mode although eval() was called: fix the model's train()"
    again = _outputs(target, seeds.inputs[:8], batch=8, like=outputs[:1])
    if not torch.allclose(again, outputs[:8], rtol=1e-3, atol=1e-4, equal_nan=True):
        yield "the model answers differently each time: remove dropout or noise that ignores eval()"
    spread = (outputs - outputs[:1]).abs().max()  # NaN where a seed fails, which is no constant
    if len(seeds) > 1 and spread == 0 and not torch.equal(seeds.inputs[:1].expand_as(seeds.inputs), seeds.inputs):
        yield f"the output is the same for all {len(seeds)} seeds: check --range, --mean and --std, and the weights"
    labelled = int((seeds.labels != NO_LABEL).sum())
    if accuracy is not None and labelled >= SMALLEST_LABELLED_SET and accuracy < _about_chance(outputs.shape[1]):
        yield f"accuracy on the seeds is {accuracy:.1%}, about chance: check --range, --mean, --std and the labels"


def _about_chance(classes: int) -> float:
    """Twice what guessing gets right, or a tenth of the way from there to all where that is less."""
    return min(2 / classes, 1 / classes + 0.1 * (1 - 1 / classes))


def gives_classes(outputs: Tensor) -> bool:
    """True of outputs that look like class scores [batch, classes]."""
    return outputs.ndim == 2 and outputs.shape[1] > 1


def _accuracy(outputs: Tensor, seeds: Seeds) -> float | None:
    if not gives_classes(outputs):
        return None
    known = (seeds.labels != NO_LABEL) & outputs.isfinite().all(1)  # NaN is another finding than a wrong label
    if not known.any():
        return None
    if int(seeds.labels.max()) >= outputs.shape[1]:
        raise PreflightFailed(
            f"seeds have label {int(seeds.labels.max())} but the model has {outputs.shape[1]} outputs: check the labels"
        )
    return float((outputs.argmax(1) == seeds.labels)[known].float().mean())


def _labelled(seeds: Seeds, outputs: Tensor) -> Seeds:
    """Where no true label is given, the model's own answer is the label to keep."""
    if not gives_classes(outputs):
        return seeds
    return replace(seeds, labels=torch.where(seeds.labels == NO_LABEL, outputs.argmax(1), seeds.labels))

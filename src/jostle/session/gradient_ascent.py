"""From settings to gradient ascent: what the goal, the neurons and the changes are, checked on the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from jostle.config import Settings
from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import Differentiable
from jostle.mutators.ascent import Ascent, Reach
from jostle.mutators.goals import AnotherClass, Goal, OneDeviates
from jostle.mutators.neuron_choice import STRATEGIES, NeuronChoice
from jostle.mutators.perturbations import PERTURBATIONS, SPATIAL
from jostle.options.choices import chosen
from jostle.profile import Layers
from jostle.records import Linearised, Seeds
from jostle.session.preflight import TRIED
from jostle.targets.contained import ContainedGradients

OTHERS = 4  # classes that ascent heads for, where there are so many
INSTEAD = "use --recipe deephunter or tensorfuzz, which need no gradients"


@dataclass(frozen=True)
class Means:
    """What a mutator may be made from besides settings."""

    gradients: Differentiable
    incoming: Mapping[str, Tensor]  # by layer, [neurons] how strong the weights into each neuron are
    seeds: Seeds
    classes: int  # 0 if the model gives no class scores


def ascent(settings: Settings, means: Means, threshold: float) -> Ascent:
    """Gradient ascent with everything it needs, or a line that says what is missing."""
    assert settings.balance is not None and settings.limit is not None and settings.reach is not None, "settled before"
    if not means.classes:
        raise UsageError(f"--mutator gradient needs a model that gives class scores [batch, classes]: {INSTEAD}")
    name = chosen("--perturbation", settings.perturbation or "", PERTURBATIONS)
    shape = list(means.seeds.inputs.shape[1:])
    if name in SPATIAL and len(shape) != 3:
        raise PreflightFailed(
            f"--perturbation {name} needs images [channels, height, width], and seeds have shape {shape}: use gradient"
        )
    others = min(OTHERS, means.classes - 1) if settings.others is None else settings.others
    goal: Goal = OneDeviates() if settings.models else AnotherClass(means.classes, others)
    who, hint = ("one of the models", ", as if they were the same") if settings.models else ("the model", "")
    target, passed = _tried(means, goal, who, hint)
    return Ascent(
        target,
        goal,
        *settings.range,
        choice=_choice(settings, means, passed, threshold) if settings.neurons else None,
        weight=settings.balance,
        perturbation=PERTURBATIONS[name],
        iterations=settings.iterations or 1,
        reach=Reach(settings.limit, settings.reach),
        as_images=bool(settings.as_images),
    )


def _tried(means: Means, goal: Goal, who: str, hint: str) -> tuple[ContainedGradients, Linearised]:
    """The target with its crashes contained, and a pass over the first seed that shows it to have gradients."""
    trouble = "the gradient is zero on every seed tried" + hint
    for row in range(min(TRIED, len(means.seeds))):
        sample, label = means.seeds.inputs[row : row + 1], means.seeds.labels[row : row + 1]
        passed = attempt(partial(means.gradients.linearise, sample))
        if isinstance(passed, Crash):  # of a seed that the model fails on; another may tell
            trouble = f"{passed.error}: {passed.message}"
            continue
        gradient = attempt(partial(passed.pull, goal.weights(passed.scores, label, torch.zeros(1)), {}))
        if isinstance(gradient, Crash):
            raise UsageError(f"{who} cannot be differentiated ({gradient.error}: {gradient.message}): {INSTEAD}")
        if gradient.any():
            return ContainedGradients(means.gradients, sample), passed
    raise UsageError(f"{who} cannot be differentiated ({trouble}): {INSTEAD}")


def _choice(settings: Settings, means: Means, passed: Linearised, threshold: float) -> NeuronChoice:
    layers: Layers = tuple((name, value.shape[1]) for name, value in passed.activations.items())
    if not layers:
        raise UsageError("--neurons: no layer is watched whose neurons could be activated: give --neurons 0")
    names = [chosen("--strategy", name, STRATEGIES) for name in settings.strategy]
    weights = torch.cat([_strengths(means.incoming.get(name.partition("#")[0]), size) for name, size in layers])
    if "heavy" in names and not weights.any():
        raise UsageError("--strategy heavy: no watched layer has weights: choose another strategy")
    strategies = [STRATEGIES[name] for name in names]
    return NeuronChoice(layers, settings.neurons or 0, strategies, threshold, weights)


def _strengths(known: Tensor | None, size: int) -> Tensor:
    """Zeros for a layer that neither has weights nor passes on neurons of one that has."""
    return known if known is not None and len(known) == size else torch.zeros(size)

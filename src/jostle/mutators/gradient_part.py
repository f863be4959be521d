"""Gradient ascent as a part that a user can name: its goal, its neurons and its changes, checked on the seeds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import Differentiable
from jostle.mutators.ascent import Ascent, Reach
from jostle.mutators.goals import AnotherClass, Goal, OneDeviates, TwinsDisagree
from jostle.mutators.in_domain import in_domain
from jostle.mutators.neuron_choice import STRATEGIES, NeuronChoice
from jostle.mutators.perturbations import PERTURBATIONS, SPATIAL
from jostle.options.campaign import (
    ActivityOptions,
    CountedLayerOptions,
    FindingOptions,
    InputOptions,
    PanelOptions,
    StepOptions,
)
from jostle.options.declaration import Theme, option
from jostle.options.kinds import HELD, LARGEST, choice, choices, number, whole
from jostle.options.schema import Settings
from jostle.part import TRIED, Part, PartContext, first_line
from jostle.profile import Layers
from jostle.records import Linearised

OTHERS = 4  # classes that ascent heads for, where there are so many
INSTEAD = "use --recipe deephunter or tensorfuzz, which need no gradients"
INSTEAD_FOR_TWINS = "use --coverage gap, which needs no gradients"
LABEL, DISAGREE = "label", "disagree"
GOALS = (LABEL, DISAGREE)
# Of the model for a mutant, in forward passes: one forward and backward, which takes 2.5 times as long (measured on
# LeNets), and another at the end of a line, whose last point alone is run without a gradient.
PASSES = 3
NOT_NEGATIVE = number("give a number that is not negative", at_least=0)


@dataclass(frozen=True)
class GradientOptions:
    """What gradients head for, and how they change inputs: DLFuzz's (§4.1), but for λ, which the paper leaves open."""

    goal: str = option(
        choice(lambda: GOALS),
        "What gradients head for: label (another one), disagree (of model and --twin)",
        Theme.GRADIENTS,
        default=LABEL,
    )
    strategy: tuple[str, ...] = option(
        choices(lambda: STRATEGIES, "a strategy"),
        "Which neurons `gradient` activates: frequent, rare, heavy, near, uncovered",
        Theme.GRADIENTS,
        default=("frequent",),
    )
    neurons: int = option(
        whole(0, LARGEST, "give a whole number from 0 to 2^63 - 1"),
        "How many neurons `gradient` activates",
        Theme.GRADIENTS,
        default=10,
    )
    balance: float = option(NOT_NEGATIVE, "What a neuron weighs beside the label", Theme.GRADIENTS, default=0.25)
    others: int | None = option(HELD, f"Other classes that `gradient` heads for ({OTHERS})", Theme.GRADIENTS)
    perturbation: str = option(
        choice(lambda: PERTURBATIONS),
        "How gradients change inputs: gradient, sign, light, occlusion, blackout",
        Theme.GRADIENTS,
        default="gradient",
    )
    reach: float = option(NOT_NEGATIVE, "Largest relative distance from the root", Theme.GRADIENTS, default=0.3)


def ascent(settings: Settings, context: PartContext) -> Ascent:
    """Gradient ascent with everything it needs, or a line that says what is missing."""
    options, steps = settings[GradientOptions], settings[StepOptions]
    if not context.seeds.inputs.is_floating_point():
        raise UsageError("--mutator gradient is for values, and the seeds are tokens: use --mutator embedding")
    if not context.classes:
        raise UsageError(f"--mutator gradient needs a model that gives class scores [batch, classes]: {INSTEAD}")
    _check_spatial(options.perturbation, list(context.seeds.inputs.shape[1:]))
    goal = _goal(settings, context)
    target, passed = _tried_for(goal, context)
    return Ascent(
        target,
        goal,
        *settings[InputOptions].bounds,
        choice=_choice(settings, context, passed) if options.neurons else None,
        weight=options.balance,
        perturbation=PERTURBATIONS[options.perturbation],
        iterations=steps.iterations,
        reach=Reach(steps.limit, options.reach),
        as_images=settings[FindingOptions].as_images,
    )


def _goal(settings: Settings, context: PartContext) -> Goal:
    options = settings[GradientOptions]
    if options.goal == DISAGREE:
        return TwinsDisagree()
    if settings[PanelOptions].models:
        return OneDeviates()
    return AnotherClass(context.classes, options.others or min(OTHERS, context.classes - 1))


def _tried_for(goal: Goal, context: PartContext) -> tuple[Differentiable, Linearised]:
    """The target and a pass over it, or who cannot be differentiated."""
    if isinstance(goal, TwinsDisagree):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch's, of layers without a gradient
            target, passed = tried(context, goal, "the model or a twin", INSTEAD_FOR_TWINS)
            for variant, name in context.twins.items():
                _check_twin(target, context.seeds.inputs[:1], variant, name)
        return target, passed
    if isinstance(goal, OneDeviates):
        return tried(context, goal, "one of the models", INSTEAD, ", as if they were the same")
    return tried(context, goal, "the model", INSTEAD)


def _check_twin(target: Differentiable, sample: Tensor, variant: str, name: str) -> None:
    """Refuses a twin that has no gradient, as quantised layers have none, whether or not they say so."""
    passed = target.linearise(sample)
    weights = torch.linspace(-1, 1, passed.scores[variant].shape[1])[None]
    if not passed.pull({variant: weights}, {}).any():
        raise UsageError(f"--goal disagree: the twin {name} cannot be differentiated: {INSTEAD_FOR_TWINS}")


def _check_spatial(perturbation: str, shape: list[int]) -> None:
    if perturbation in SPATIAL and len(shape) != 3:
        raise PreflightFailed(
            f"--perturbation {perturbation} needs images [channels, height, width], and seeds have shape {shape}: "
            f"use gradient"
        )


def tried(
    context: PartContext, goal: Goal, who: str, instead: str, hint: str = ""
) -> tuple[Differentiable, Linearised]:
    """The target with its crashes contained, and a pass over the first seed that shows it to have gradients."""
    assert context.gradients is not None and context.contained is not None, "asked for by this part"
    seeds, trouble = context.seeds, "the gradient is zero on every seed tried" + hint
    for row in range(min(TRIED, len(seeds))):
        sample, label = seeds.inputs[row : row + 1], seeds.labels[row : row + 1]
        passed = attempt(partial(context.gradients.linearise, sample))
        if isinstance(passed, Crash):  # of a seed that the model fails on; another may tell
            trouble = f"{passed.error}: {passed.message}"
            continue
        gradient = attempt(partial(passed.pull, goal.weights(passed.scores, label, torch.zeros(1)), {}))
        if isinstance(gradient, Crash):
            raise UsageError(f"{who} cannot be differentiated ({gradient.error}: {gradient.message}): {instead}")
        if gradient.any():
            return context.contained(sample), passed
    raise UsageError(f"{who} cannot be differentiated ({trouble}): {instead}")


def _choice(settings: Settings, context: PartContext, passed: Linearised) -> NeuronChoice:
    options = settings[GradientOptions]
    layers: Layers = tuple((name, value.shape[1]) for name, value in passed.activations.items())
    if not layers:
        raise UsageError("--neurons: no layer is watched whose neurons could be activated: give --neurons 0")
    weights = torch.cat([_strengths(context.incoming.get(name.partition("#")[0]), size) for name, size in layers])
    if "heavy" in options.strategy and not weights.any():
        raise UsageError("--strategy heavy: no watched layer has weights: choose another strategy")
    strategies = [STRATEGIES[name] for name in options.strategy]
    return NeuronChoice(layers, options.neurons, strategies, settings[ActivityOptions].active, weights)


def _strengths(known: Tensor | None, size: int) -> Tensor:
    """Zeros for a layer that neither has weights nor passes on neurons of one that has."""
    return known if known is not None and len(known) == size else torch.zeros(size)


GRADIENT = Part(
    first_line(Ascent),
    in_domain(ascent),
    (GradientOptions, StepOptions, ActivityOptions, CountedLayerOptions),
    cost=PASSES,
    neurons=True,
    extremes=True,
    bounded=True,
)

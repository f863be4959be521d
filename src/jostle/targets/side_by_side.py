"""Passes of several models over the same inputs as one pass, with everything under the name of its model."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from torch import Tensor

from jostle.records import MODEL, Linearised


def layer_of(variant: str, name: str) -> str:
    """The name of a model's layer among those of all."""
    return name if variant == MODEL else f"{variant}: {name}"


def together(groups: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """What all models show, by layer."""
    return {layer_of(variant, name): value for variant, group in groups.items() for name, value in group.items()}


def passed_together(passes: Mapping[str, Linearised]) -> Linearised:
    """One pass, whose gradient is the sum of theirs; a model whose scores and layers weigh nothing adds nothing."""

    def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
        gradients = []
        for variant, passed in passes.items():
            own, weights = _own(activations, variant, passes), {}
            if variant in scores:
                weights[MODEL] = scores[variant]
            if weights or own:
                gradients.append(passed.pull(weights, own))
        return sum(gradients[1:], start=gradients[0])

    return Linearised(
        scores={variant: passed.scores[MODEL] for variant, passed in passes.items()},
        activations=together({variant: passed.activations for variant, passed in passes.items()}),
        extremes=together({variant: passed.extremes for variant, passed in passes.items()}),
        pull=pull,
        entered=together({variant: passed.entered for variant, passed in passes.items()}),
    )


def _own(activations: Mapping[str, Tensor], variant: str, variants: Collection[str]) -> dict[str, Tensor]:
    """Of weights of all layers those of one model, under its own names."""
    if variant != MODEL:
        start = layer_of(variant, "")
        return {name.removeprefix(start): value for name, value in activations.items() if name.startswith(start)}
    strangers = tuple(layer_of(other, "") for other in variants if other != MODEL)
    return {name: value for name, value in activations.items() if not name.startswith(strangers)}

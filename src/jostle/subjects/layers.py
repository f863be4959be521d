"""Layers of a model, and which of them to watch."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from jostle.errors import UsageError


@dataclass(frozen=True)
class Layer:
    """A part of a model that gives one floating-point row per input."""

    name: str
    softmax: bool
    passive: bool  # where only NaN and infinity are sought, it is not watched unless it is named
    silent: bool  # its neurons are not counted unless it is named
    aliases: tuple[str, ...] = ()  # other names that a user may know it by
    shape: tuple[int, ...] = field(default=(), compare=False)  # of what it gives for one input, once it has run
    handed_on: bool = False  # all that it gives goes into an activation or a normalisation and nowhere else


def joined(earlier: Layer, later: Layer) -> Layer:
    """A layer of several operators gives what the last of them gives; it is passive if all of them are."""
    both = (earlier, later)
    return replace(
        later,
        softmax=any(one.softmax for one in both),
        passive=all(one.passive for one in both),
        silent=all(one.silent for one in both),
        aliases=(*earlier.aliases, *later.aliases),
    )


def scores_layer(layers: Sequence[Layer]) -> str | None:
    """Where class scores are before a softmax that ends the model; None if it does not end so."""
    return before_softmax(layers)[0] if layers and layers[-1].softmax and before_softmax(layers) else None


def before_softmax(layers: Sequence[Layer]) -> list[str]:
    """The last layer that is not a softmax: where TensorFuzz looks for novelty. Empty without layers."""
    logits = [layer.name for layer in layers if not layer.softmax]
    return logits[-1:]


def speaking(layers: Sequence[Layer]) -> list[str]:
    """Every layer that changes what it is given."""
    return [layer.name for layer in layers if not layer.silent]


def activated(layers: Sequence[Layer]) -> list[str]:
    """The same with a layer and the activation behind it as one, at the activation: whose neurons papers count."""
    return [layer.name for layer in layers if not layer.silent and not layer.handed_on]


def working(layers: Sequence[Layer]) -> list[str]:
    """Every layer that computes something, and the one before softmax: what we watch unless told otherwise."""
    return [layer.name for layer in layers if not layer.passive or layer.name in before_softmax(layers)]


def matching(layers: Sequence[Layer], patterns: Sequence[str]) -> list[str]:
    """The layers that match any of the patterns (`conv*`); a pattern that matches none is refused."""
    names = [layer.name for layer in layers]
    for pattern in patterns:
        if not any(_goes_by(layer, pattern) for layer in layers):
            nearest = difflib.get_close_matches(pattern.strip("*?"), names, n=5, cutoff=0.3) or names[:5]
            hint = f"nearest names: {', '.join(nearest)}" if nearest else "this model has no layers to watch"
            raise UsageError(f"--layers {pattern!r} matches no layer; {hint}")
    return [layer.name for layer in layers if any(_goes_by(layer, pattern) for pattern in patterns)]


def _goes_by(layer: Layer, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (layer.name, *layer.aliases))

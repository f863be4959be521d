"""The layer of a torch module that looks tokens up, which is where its gradient by tokens begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jostle.foreign import attempt


@dataclass
class LookedUp:
    """The first embedding that was given the tokens themselves, and what it gave for them."""

    layer: nn.Embedding | None = None
    output: Tensor | None = None  # [batch, length, dimensions]


@contextmanager
def lookups(module: nn.Module, tokens: Tensor) -> Iterator[LookedUp]:
    """Fills what it gives while the module runs on tokens [batch, length], and makes a leaf of the embedding's output.

    Positions and segments are looked up too, so what counts is that a layer is given the tokens.
    """
    seen = LookedUp()

    def before(layer: nn.Embedding, given: tuple[Any, ...]) -> None:
        if seen.layer is None and isinstance(given[0], Tensor) and torch.equal(given[0].to(tokens), tokens):
            seen.layer = layer

    def after(layer: nn.Embedding, given: tuple[Any, ...], output: Tensor) -> Tensor:
        if seen.layer is not layer or seen.output is not None:
            return output
        seen.output = output.detach().requires_grad_(torch.is_grad_enabled())
        return seen.output.clone()  # which a model may change in place

    layers = [layer for layer in module.modules() if isinstance(layer, nn.Embedding)]
    hooks = [layer.register_forward_pre_hook(before) for layer in layers]
    hooks += [layer.register_forward_hook(after) for layer in layers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def embedding_matrix(module: nn.Module, sample: Tensor) -> Tensor | None:
    """The rows [vocabulary, dimensions] among which the module looks the sample's tokens [batch, length] up.

    None if it has no such layer. A sample with tokens beyond the vocabulary tells it too, though the lookup fails.
    """
    with lookups(module, sample) as seen, torch.no_grad():
        attempt(partial(module, sample.clone()))
    return None if seen.layer is None else seen.layer.weight.detach().float().cpu().clone()

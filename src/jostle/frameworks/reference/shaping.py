"""Formulas of the operators that reshape, transpose or join tensors, or go by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula


def reshape(call: Call, x: Tensor) -> Tensor:
    return x.reshape(call.type.shape)


def _beside_diagonal(x: Tensor) -> Tensor:
    """How far each element of a matrix is right of the diagonal."""
    return torch.arange(x.shape[-1]) - torch.arange(x.shape[-2]).unsqueeze(-1)


def tril(call: Call, x: Tensor) -> Tensor:
    return x.masked_fill(_beside_diagonal(x) > call.attributes["diagonal"], 0)


def triu(call: Call, x: Tensor) -> Tensor:
    return x.masked_fill(_beside_diagonal(x) < call.attributes["diagonal"], 0)


def depth_to_space(call: Call, x: Tensor) -> Tensor:
    block, (batch, channels, height, width) = call.attributes["block"], x.shape
    left = channels // block**2
    if call.attributes["mode"] == "crd":
        parts = x.reshape(batch, left, block, block, height, width).permute(0, 1, 4, 2, 5, 3)
    else:
        parts = x.reshape(batch, block, block, left, height, width).permute(0, 3, 4, 1, 5, 2)
    return parts.reshape(call.type.shape)


def space_to_depth(call: Call, x: Tensor) -> Tensor:
    block, (batch, channels, height, width) = call.attributes["block"], x.shape
    parts = x.reshape(batch, channels, height // block, block, width // block, block)
    return parts.permute(0, 3, 5, 1, 2, 4).reshape(call.type.shape)


SHAPING: Mapping[str, Formula] = {
    "reshape": reshape,
    "transpose": lambda call, x: x.permute(call.attributes["permutation"]),
    "squeeze": reshape,
    "unsqueeze": reshape,
    "expand": lambda call, x: x.expand(call.type.shape),
    "concat": lambda call, *inputs: torch.cat(inputs, call.attributes["axis"]),
    "stack": lambda call, *inputs: torch.cat(
        [one.unsqueeze(call.attributes["axis"]) for one in inputs], call.attributes["axis"]
    ),
    "tril": tril,
    "triu": triu,
    "depth_to_space": depth_to_space,
    "space_to_depth": space_to_depth,
}

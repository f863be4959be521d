"""Formulas of what windows see, and of what is chosen of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.convolutions import Places, regular, seen
from jostle.frameworks.reference.numbers import Formula
from jostle.frameworks.reference.undefined import undefined_where, undefined_with_nan


def sliding_window(call: Call, x: Tensor) -> Tensor:
    axis, count = call.attributes["axis"], call.type.shape[call.attributes["axis"]]
    size, step = call.attributes["size"], call.attributes["step"]
    places = torch.arange(count).unsqueeze(1) * step + torch.arange(size)
    parts = x.index_select(axis, places.flatten())
    return parts.reshape((*x.shape[:axis], count, size, *x.shape[axis + 1 :])).movedim(axis + 1, -1)


def _places(call: Call, x: Tensor) -> Places:
    of, axes = call.attributes, x.dim() - 2
    kernel, strides = of["kernel"], of.get("strides", of["kernel"])
    padding, dilations = of.get("padding", [0] * axes), of.get("dilations", [1] * axes)
    numbers = zip(x.shape[2:], kernel, strides, padding, dilations, strict=True)
    return [
        regular((size + 2 * pad - (taps - 1) * dilation - 1) // stride + 1, taps, stride, pad, dilation)
        for size, taps, stride, pad, dilation in numbers
    ]


def im2col(call: Call, x: Tensor) -> Tensor:
    return seen(x, _places(call, x), 0.0).transpose(2, 3).reshape(call.type.shape)


def sum_pool(call: Call, x: Tensor) -> Tensor:
    divisor: int = call.attributes["divisor"]
    return (seen(x, _places(call, x), 0.0).sum(-1) / divisor).reshape(call.type.shape)


def _largest(call: Call, x: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of each window, and the number of its pixel: [batch, channels, windows]."""
    undefined_with_nan(x, "the largest")
    places = _places(call, x)
    values = seen(x, places, -torch.inf)
    top = values.amax(-1, keepdim=True)
    undefined_where((values == top).sum(-1) > 1, "the place of the largest of which there are several")
    pixels = seen(numbers.expand(x.shape), places, -1)
    return top.squeeze(-1), torch.where(values == top, pixels, -1).amax(-1)


def max_pool_indices(call: Call, x: Tensor) -> Tensor:
    sizes = x.shape[2:]
    numbers = torch.arange(prod(sizes)).reshape(sizes)
    if call.attributes["by_columns"]:
        numbers = numbers.reshape(sizes[::-1]).permute(*range(len(sizes) - 1, -1, -1))
    return _largest(call, x, numbers)[1].reshape(call.type.shape)


def max_unpool(call: Call, x: Tensor) -> Tensor:
    sizes = call.type.shape[2:]
    for axis, size in enumerate(sizes, 2):
        x = x.narrow(axis, 0, size)
    values, pixels = _largest(call, x, torch.arange(prod(sizes)).reshape(sizes))
    named = pixels.unsqueeze(-2) == torch.arange(prod(sizes)).unsqueeze(1)
    return torch.where(named, values.unsqueeze(-2), 0.0).sum(-1).reshape(call.type.shape)


WINDOWS: Mapping[str, Formula] = {
    "sliding_window": sliding_window,
    "im2col": im2col,
    "sum_pool": sum_pool,
    "max_pool_indices": max_pool_indices,
    "max_unpool": max_unpool,
}

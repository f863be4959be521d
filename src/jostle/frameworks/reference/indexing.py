"""Formulas of the operators that move elements along axes, or go by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.graph import INTEGERS
from jostle.frameworks.reference.numbers import Formula, along, least, most
from jostle.frameworks.reference.reductions import folded, largest, product, smallest
from jostle.frameworks.reference.undefined import undefined_where


def slices(call: Call, x: Tensor) -> Tensor:
    names = ("starts", "sizes", "steps")
    for axis, (start, size, step) in enumerate(zip(*(call.attributes[name] for name in names), strict=True)):
        x = x.index_select(axis, start + step * torch.arange(size))
    return x


def flip(call: Call, x: Tensor) -> Tensor:
    for axis in call.attributes["axes"]:
        x = x.index_select(axis, torch.arange(x.shape[axis] - 1, -1, -1))
    return x


def roll(call: Call, x: Tensor) -> Tensor:
    axis, shift = call.attributes["axis"], call.attributes["shift"]
    return x.index_select(axis, (torch.arange(x.shape[axis]) - shift) % x.shape[axis])


def tile(call: Call, x: Tensor) -> Tensor:
    for axis, repeats in enumerate(call.attributes["repeats"]):
        x = x.index_select(axis, torch.arange(x.shape[axis] * repeats) % x.shape[axis])
    return x


def pad(call: Call, x: Tensor) -> Tensor:
    mode, value = call.attributes["mode"], call.attributes["value"]
    for axis, (before, after) in enumerate(zip(call.attributes["before"], call.attributes["after"], strict=True)):
        size = x.shape[axis]
        if before == after == 0:
            continue
        places = torch.arange(-before, size + after)
        if mode == "constant":
            x = at_places(x, axis, places, int(value) if call.type.dtype in INTEGERS else value)
        else:
            x = x.index_select(axis, _repeated(places, size, mode))
    return x


def _repeated(places: Tensor, size: int, mode: str) -> Tensor:
    """Where the elements outside are taken from."""
    if mode == "circular":
        return places % size
    if mode == "replicate":
        return places.clamp(0, size - 1)
    turned = places.abs()
    return torch.where(turned > size - 1, 2 * (size - 1) - turned, turned)


def at_places(x: Tensor, axis: int, places: Tensor, outside: float) -> Tensor:
    """The slices of an axis at these places, which may lie outside."""
    size = x.shape[axis]
    if size == 0:
        shape = [len(places) if at == axis else length for at, length in enumerate(x.shape)]
        return torch.full(shape, outside, dtype=x.dtype)
    inside = (places >= 0) & (places < size)
    taken = x.index_select(axis, places.clamp(0, size - 1))
    return taken if bool(inside.all()) else torch.where(along(inside, axis, x.dim()), taken, outside)


def _indices_inside(call: Call, x: Tensor, indices: Tensor, *updates: Tensor) -> None:
    size = x.shape[call.attributes["axis"]]
    undefined_where((indices < 0) | (indices >= size), "an index outside the axis")


def gather(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    return x.gather(call.attributes["axis"], indices)


def take(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    return x.index_select(call.attributes["axis"], indices)


def scatter(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Every place combined with all updates that name it, and others with nothing that would change it."""
    axis, reduction, dtype = call.attributes["axis"], call.attributes["reduction"], call.type.dtype
    if indices.numel() == 0:
        return x
    x, indices, updates = (one.movedim(axis, -1) for one in (x, indices, updates))
    named = indices.unsqueeze(-2) == torch.arange(x.shape[-1]).unsqueeze(-1)
    low, high = (least(dtype), most(dtype)) if dtype in INTEGERS else (-np.inf, np.inf)
    neutral = {"add": 0, "mul": 1, "max": low, "min": high}[reduction]
    offered = torch.where(named, updates.unsqueeze(-2), torch.tensor(neutral, dtype=x.dtype))
    everything = torch.cat([x.unsqueeze(-1), offered], -1)
    combined = {
        "add": lambda: folded(everything, x.dim(), torch.add),
        "mul": lambda: product(everything, [x.dim()]),
        "max": lambda: largest(everything, [x.dim()]),
        "min": lambda: smallest(everything, [x.dim()]),
    }[reduction]()
    return combined.squeeze(-1).movedim(-1, axis)


def one_hot(call: Call, x: Tensor) -> Tensor:
    return (x.unsqueeze(-1) == torch.arange(call.attributes["depth"])).to(torch.float64)


# Undefined where inputs have no meaning, also if the result is empty, so that no formula is computed.
CHECKS: Mapping[str, Callable[..., None]] = dict.fromkeys(("gather", "take", "scatter"), _indices_inside)
INDEXING: Mapping[str, Formula] = {
    "slice": slices,
    "flip": flip,
    "roll": roll,
    "pad": pad,
    "tile": tile,
    "gather": gather,
    "take": take,
    "scatter": scatter,
    "one_hot": one_hot,
}

"""Formulas of the operators that look between pixels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import within
from jostle.frameworks.reference.numbers import Formula, along
from jostle.frameworks.reference.undefined import undefined_where

CUBIC = -0.75  # the parameter a of cubic convolution
FARTHEST = 2.0**24  # where places are further apart than pixels in float32
Tap = tuple[Tensor, Tensor]  # a place and what it counts


def cubic_weights(part: Tensor) -> list[Tensor]:
    """What the four neighbours of a place count, which is `part` of the way from the second to the third."""
    return [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]


def _near(distance: Tensor) -> Tensor:
    return ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1


def _far(distance: Tensor) -> Tensor:
    return ((distance - 5) * distance + 8) * distance * CUBIC - 4 * CUBIC


def resize(call: Call, x: Tensor) -> Tensor:
    for axis, size in enumerate(call.attributes["size"], 2):
        taps = _taps(x.shape[axis], size, call.attributes["mode"])
        parts = [_weighed(x.index_select(axis, place), along(weight, axis, x.dim())) for place, weight in taps]
        x = torch.stack(parts).sum(0)
    return x


def _weighed(values: Tensor, weight: Tensor) -> Tensor:
    undefined_where((weight == 0) & ~values.isfinite(), "a pixel that is not finite, and of which nothing is taken")
    return values * weight


def _taps(old: int, new: int, mode: str) -> list[Tap]:
    """The places of an axis that each place of the result is made of; whole numbers as long as they can be."""
    numbers = torch.arange(new)
    if mode.startswith("nearest"):
        place = numbers * old // new if mode == "nearest" else (2 * numbers + 1) * old // (2 * new)
        return [(place, torch.ones(new, dtype=torch.float64))]
    if mode.endswith("align_corners"):
        above, below = numbers * (old - 1), max(new - 1, 1)
    else:
        above, below = (2 * numbers + 1) * old - new, 2 * new
    whole, part = above // below, (above % below).to(torch.float64) / below
    weights = cubic_weights(part) if mode.startswith("cubic") else [1 - part, part]
    first = -1 if mode.startswith("cubic") else 0
    return [((whole + shift).clamp(0, old - 1), weight) for shift, weight in enumerate(weights, first)]


def grid_sample(call: Call, x: Tensor, grid: Tensor) -> Tensor:
    undefined_where(~(grid.abs() < FARTHEST), "a sample at a place beyond all whole numbers")
    columns = _grid_taps(call, grid[..., 0], x.shape[3])
    rows = _grid_taps(call, grid[..., 1], x.shape[2])
    samples = [
        _weighed(_values(x, row, column), (row_weight * column_weight).unsqueeze(-1))
        for (row, row_weight), (column, column_weight) in product(rows, columns)
    ]
    return torch.stack(samples).sum(0).permute(0, 3, 1, 2)


def _values(x: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The pixels at whole places [batch, h, w], 0 outside the image, as [batch, h, w, channels]."""
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    batch = torch.arange(x.shape[0]).reshape(-1, 1, 1)
    row, column = (torch.where(inside, place, 0.0).to(torch.int64) for place in (row, column))
    return torch.where(inside.unsqueeze(-1), x.permute(0, 2, 3, 1)[batch, row, column], 0.0)


def _grid_taps(call: Call, grid: Tensor, size: int) -> list[Tap]:
    mode, align = call.attributes["mode"], call.attributes["align_corners"]
    place = (grid + 1) / 2 * (size - 1) if align else ((grid + 1) * size - 1) / 2
    if mode == "bicubic":  # here each tap is brought back into the image, not the place between them
        whole = torch.floor(place.detach())
        return [
            (_padded(call, whole + shift, size), weight)
            for shift, weight in enumerate(cubic_weights(place - whole), -1)
        ]
    place = _padded(call, place, size)
    if mode == "nearest":
        return [(torch.round(place.detach()), torch.ones_like(grid.detach()))]
    whole = torch.floor(place.detach())
    return [(whole, 1 - (place - whole)), (whole + 1, place - whole)]


def _padded(call: Call, place: Tensor, size: int) -> Tensor:
    padding, align = call.attributes["padding"], call.attributes["align_corners"]
    if padding == "zeros":
        return place
    if padding == "reflection":
        place = _reflected(place, 0.0, size - 1.0) if align else _reflected(place, -0.5, float(size))
    return within(place, 0.0, size - 1.0)


def _reflected(place: Tensor, low: float, length: float) -> Tensor:
    """Thrown back from both ends as often as needed."""
    if length == 0:
        return torch.zeros_like(place)
    place = (place - low).abs()
    rest, turns = torch.fmod(place, length), torch.floor(place.detach() / length)
    return torch.where(turns % 2 == 0, rest, length - rest) + low


def resize_antialias(call: Call, x: Tensor) -> Tensor:
    for axis, size in enumerate(call.attributes["size"], 2):
        weights = _wide_weights(x.shape[axis], size, call.attributes["mode"])
        undefined_where(~x.isfinite(), "a pixel that is not finite, of which next to nothing may be taken")
        x = torch.matmul(x.movedim(axis, -1), weights.T).movedim(-1, axis)
    return x


def _wide_weights(old: int, new: int, mode: str) -> Tensor:
    """What each place of the result takes of each pixel of an axis: [new, old]."""
    scale = old / new
    centres = (torch.arange(new, dtype=torch.float64) + 0.5) * scale - 0.5
    distances = (torch.arange(old) - centres.unsqueeze(1)).abs() / max(scale, 1.0)
    weights = (1 - distances).clamp(min=0) if mode == "linear" else _keys(distances)
    return weights / weights.sum(1, keepdim=True)


def _keys(distance: Tensor) -> Tensor:
    """The cubic kernel of Keys, which is 0 from 2 on."""
    near = (1.5 * distance - 2.5) * distance * distance + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return torch.where(distance < 1, near, torch.where(distance < 2, far, 0.0))


def affine_grid(call: Call, theta: Tensor) -> Tensor:
    sizes, align = (call.attributes["height"], call.attributes["width"]), call.attributes["align_corners"]
    down, across = (_from_centre(size, align) for size in sizes)
    rows, columns = torch.meshgrid(down, across, indexing="ij")
    places = torch.stack([columns, rows, torch.ones_like(rows)], -1).reshape(-1, 3)
    return torch.matmul(places, theta.mT).reshape(call.type.shape)


def _from_centre(size: int, align: bool) -> Tensor:
    """The places of pixels between -1 and 1; a single one lies in the middle."""
    places = torch.arange(size, dtype=torch.float64)
    if align:
        return 2 * places / (size - 1) - 1 if size > 1 else torch.zeros(1, dtype=torch.float64)
    return (2 * places + 1) / size - 1


SAMPLING: Mapping[str, Formula] = {
    "resize": resize,
    "grid_sample": grid_sample,
    "resize_antialias": resize_antialias,
    "affine_grid": affine_grid,
}

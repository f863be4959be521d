"""What havoc does to arrays of any shape: each operation takes rows [rows, ...] and gives as many of the same shape.

In numpy, because most rows are small and there are a hundred small calls, which torch takes three times as long for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SPECIAL = {"nan": (math.nan,), "inf": (math.inf, -math.inf)}  # what a user may ask for where there are no bounds
BEYOND_HALF = 2.0**16  # the first power of two that float16 cannot hold
DOUBLINGS = 4  # of values that are scaled, or halvings
FEW = 8  # entries that change at most where neither a block nor everything does
EVERYWHERE, BLOCK, ENTRIES = range(3)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Palette:
    """What values are set to, and by how much they are shifted, within one range."""

    low: float
    high: float
    extent: float  # how far values usually are from each other
    special: Array  # [values]
    ends: Array  # [2] the lowest and the highest value that is finite

    @staticmethod
    def of(low: float, high: float, extent: float, asked: Iterable[str], dtype: npt.DTypeLike) -> Palette:
        """The palette of a range, which may have no ends; `asked` are names of SPECIAL."""
        numbers = np.finfo(dtype)
        tiny, most = float(numbers.tiny), float(numbers.max)
        sizes = (0.0, tiny / 4, tiny, float(numbers.eps), 1.0, BEYOND_HALF, most**0.5, most)
        inside = [value for size in sizes for value in (size, -size) if low <= value <= high]
        ends = [max(low, -most), min(high, most)]
        wished = [value for name in asked for value in SPECIAL[name]]
        return Palette(low, high, extent, np.array([*inside, *ends, *wished], dtype), np.array(ends, dtype))

    @property
    def mirror(self) -> float:
        """What a value and its negative add up to: 0, or where all have one sign, what keeps both in the range."""
        return 0.0 if self.low < 0 < self.high else self.low + self.high

    def drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Any values: all of the range alike likely or, where it has no ends, all of the usual size."""
        low, high = (-self.extent, self.extent) if math.isinf(self.high - self.low) else (self.low, self.high)
        return _between(low, high, shape, self.ends.dtype, rng)


@dataclass(frozen=True)
class Material:
    """What operations work with besides the rows."""

    palette: Palette
    donors: Array  # [donors, ...] entries of the corpus, of which rows take over values
    rng: np.random.Generator


Operation = Callable[[Array, Material], Array]


def negated(rows: Array, material: Material) -> Array:
    return material.palette.mirror - rows


def scaled(rows: Array, material: Material) -> Array:
    doublings = _between(-DOUBLINGS, DOUBLINGS, (len(rows),), rows.dtype, material.rng)
    return rows * columns(np.exp2(doublings), rows)


def shifted(rows: Array, material: Material) -> Array:
    extent = material.palette.extent
    return rows + columns(_between(-extent, extent, (len(rows),), rows.dtype, material.rng), rows)


def at_an_end(rows: Array, material: Material) -> Array:
    return columns(_some_of(material.palette.ends, len(rows), material.rng), rows)


def special(rows: Array, material: Material) -> Array:
    return columns(_some_of(material.palette.special, len(rows), material.rng), rows)


def filled(rows: Array, material: Material) -> Array:
    return columns(material.palette.drawn((len(rows),), material.rng), rows)


def redrawn(rows: Array, material: Material) -> Array:
    return material.palette.drawn(rows.shape, material.rng)


def spliced(rows: Array, material: Material) -> Array:
    return _some_of(material.donors, len(rows), material.rng)


def copied(rows: Array, material: Material) -> Array:
    """A block along one axis, over another place."""

    def places(size: int) -> Array:
        length = material.rng.integers(1, size // 2 + 1, (len(rows), 1))
        source, target = (material.rng.integers(size - length + 1) for _ in range(2))
        own = np.arange(size)
        return np.where((own >= target) & (own < target + length), own - target + source, own)

    return _rearranged(rows, places, material.rng)


def swapped(rows: Array, material: Material) -> Array:
    """Two blocks along one axis, which do not overlap."""

    def places(size: int) -> Array:
        length = material.rng.integers(1, size // 2 + 1, (len(rows), 1))
        first = material.rng.integers(size - 2 * length + 1)
        second = material.rng.integers(first + length, size - length + 1)
        own = np.arange(size)
        in_first, in_second = ((own >= start) & (own < start + length) for start in (first, second))
        return np.where(in_first, own + second - first, np.where(in_second, own - second + first, own))

    return _rearranged(rows, places, material.rng)


def shuffled(rows: Array, material: Material) -> Array:
    """Everything along one axis, in another order."""
    return _rearranged(rows, lambda size: material.rng.random((len(rows), size)).argsort(1), material.rng)


# Of these, a region of each row takes the new values.
CHANGES: Mapping[str, Operation] = {
    "negate": negated,
    "scale": scaled,
    "shift": shifted,
    "ends": at_an_end,
    "special": special,
    "fill": filled,
    "redraw": redrawn,
    "splice": spliced,
}
# These have places of their own.
MOVES: Mapping[str, Operation] = {"copy": copied, "swap": swapped, "shuffle": shuffled}


def regions(rows: Array, rng: np.random.Generator) -> Array:
    """Where each row changes [rows, ...] bool: everywhere, in a block, or at a few entries, all three alike likely."""
    kinds = rng.integers(3, size=(len(rows), 1))
    inside = columns(np.ones(len(rows), bool), rows)
    for axis in _axes(rows):
        size = rows.shape[axis]
        length = rng.integers(1, size + 1, (len(rows), 1))
        start, own = rng.integers(size - length + 1), np.arange(size)
        along = ((own >= start) & (own < start + length)) | (kinds == EVERYWHERE)
        inside = inside & _along(axis, along, rows)
    few = np.flatnonzero(kinds == ENTRIES)
    flat = inside.reshape(len(rows), -1)
    flat[few] = False
    flat[few[:, None], _few_places(len(few), flat.shape[1], rng)] = True
    return flat.reshape(rows.shape)


def columns(values: Array, like: Array) -> Array:
    """[rows] shaped to stand beside rows of that shape."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def _some_of(choices: Array, count: int, rng: np.random.Generator) -> Array:
    """So many of the choices [choices, ...], all alike likely; faster than `rng.choice`."""
    return choices.take(rng.integers(len(choices), size=count), 0)


def _few_places(rows: int, values: int, rng: np.random.Generator) -> Array:
    """[rows, FEW] places among so many values, one to FEW different ones."""
    places = rng.integers(values, size=(rows, FEW))
    more = np.arange(FEW) > rng.integers(FEW, size=(rows, 1))
    return np.where(more, places[:, :1], places)


def _between(low: float, high: float, shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    """Values from low to high, all alike likely."""
    values: Array = rng.random(shape, np.float32).astype(dtype, copy=False)
    values *= high - low
    values += low
    return values


def _rearranged(rows: Array, places: Callable[[int], Array], rng: np.random.Generator) -> Array:
    """Rows whose values come from other places [rows, size] along an axis, which is drawn once for all of them."""
    axes = _axes(rows)
    if not axes:
        return rows
    axis = axes[rng.integers(len(axes))]
    along_first = rows.swapaxes(1, axis)[np.arange(len(rows))[:, None], places(rows.shape[axis])]
    return along_first.swapaxes(1, axis)


def _axes(rows: Array) -> list[int]:
    """The axes along which a row has more than one value."""
    return [axis for axis in range(1, rows.ndim) if rows.shape[axis] > 1]


def _along(axis: int, values: Array, rows: Array) -> Array:
    """[rows, size] shaped to stand along one axis of the rows."""
    return values.reshape(len(rows), *(size if at == axis else 1 for at, size in enumerate(rows.shape[1:], 1)))

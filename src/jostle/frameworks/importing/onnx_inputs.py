"""What an ONNX model is given: arrays of the user's or drawn ones, and sizes for axes that the file leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.frameworks.graph import Array
from jostle.frameworks.importing.onnx_elementwise import DTYPE_OF
from jostle.frameworks.importing.onnx_reading import NoCounterpart
from jostle.frameworks.size_limit import most_elements

NAME = re.compile(r"[A-Za-z_][\w.+*/ -]*")  # of a size that a file leaves open
BATCH = 2  # of a first axis without a size


@dataclass(frozen=True)
class GivenInputs:
    """What a user says of inputs; what is left open is drawn."""

    sizes: Mapping[str, int] = field(default_factory=dict)  # of axes, by the names that a file has for them
    arrays: Mapping[str, Array] = field(default_factory=dict)  # by input


NOTHING_GIVEN = GivenInputs()


def symbols_of(inputs: Sequence[Any]) -> frozenset[str]:
    """The names of all axes that these inputs leave open."""
    return frozenset(name for value in inputs for name, _ in _axes(value) if name)


def _axes(value: Any) -> Iterator[tuple[str, int]]:
    """Each axis of an input: its name if the file leaves its size open, and its size.

    Without a name, or with a sign such as Paddle's "?" for all of them, an axis is called by its place.
    """
    for at, dim in enumerate(value.type.tensor_type.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            yield "", dim.dim_value
        else:
            yield dim.dim_param if NAME.fullmatch(dim.dim_param) else f"{value.name}.{at}", -1


def arrays_for(inputs: Sequence[Any], given: GivenInputs, rng: np.random.Generator) -> dict[str, Array]:
    """An array for every input; refused where sizes are lacking, or an array of the user's does not fit."""
    drawn = [value for value in inputs if value.name not in given.arrays]
    shapes = _shapes(drawn, given.sizes)
    return {
        value.name: _fitting(value, given.arrays[value.name])
        if value.name in given.arrays
        else _drawn(value, shapes[value.name], rng)
        for value in inputs
    }


def _shapes(inputs: Sequence[Any], sizes: Mapping[str, int]) -> dict[str, list[int]]:
    """With the batch for whatever has the name of a first axis; refused where others are open."""
    for value in inputs:
        if not value.type.tensor_type.HasField("shape"):
            raise NoCounterpart(f"{value.name} has no shape")
    axes = {value.name: list(_axes(value)) for value in inputs}
    sizes = {name: BATCH for all_axes in axes.values() for name, _ in all_axes[:1] if name} | dict(sizes)
    lacking = dict.fromkeys(name for some in axes.values() for name, _ in some if name and name not in sizes)
    if lacking:
        wanted = ",".join(f"{name}=N" for name in lacking)
        raise ModelRefused(f"leaves the sizes of axes open: give --shape {wanted}")
    return {value: [sizes.get(name, size) for name, size in some] for value, some in axes.items()}


def _drawn(value: Any, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Floats of any kind, and of whole numbers 0 and 1, which are positions nearly anywhere."""
    dtype = np.dtype(_dtype(value))
    if np.prod(shape, dtype=np.float64) > most_elements():
        raise NoCounterpart(f"{value.name} of shape {list(shape)} is too large for this machine's memory")
    drawn = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
    return np.asarray(drawn).astype(dtype)


def _dtype(value: Any) -> str:
    element = value.type.tensor_type.elem_type
    if element not in DTYPE_OF:
        raise NoCounterpart(f"{value.name} is of dtype {element}")
    return DTYPE_OF[element]


def _fitting(value: Any, array: Array) -> Array:
    """The user's array, if it has the dtype and the sizes that the file says."""
    sizes = [size for _, size in _axes(value)]
    wanted = f"{_dtype(value)}[{', '.join('any' if size < 0 else str(size) for size in sizes)}]"
    fits = len(sizes) == array.ndim and all(size in (-1, own) for size, own in zip(sizes, array.shape, strict=True))
    if not fits or array.dtype.name != _dtype(value):
        raise ModelRefused(f"takes {value.name} as {wanted}, and --inputs has {array.dtype.name}{list(array.shape)}")
    return np.array(array, _dtype(value))  # of the same name also where its bytes stand in the other order

"""How numbers of every dtype are held: floats as float64, whole numbers as int64, truth values as themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.graph import FLOATS, INTEGERS, Array

# What a node computes, of its call and its inputs.
Formula = Callable[..., Tensor]


def held(array: Array) -> Tensor:
    """The same values, exactly."""
    if array.dtype.name in FLOATS:
        return torch.from_numpy(np.array(array, np.float64, order="C"))
    return torch.from_numpy(np.array(array, bool if array.dtype == np.bool_ else np.int64, order="C"))


def bits_of(dtype: str) -> int:
    return 8 * np.dtype(dtype).itemsize


def least(dtype: str) -> int:
    return int(np.iinfo(dtype).min)


def most(dtype: str) -> int:
    return int(np.iinfo(dtype).max)


def wrapped(values: Tensor, dtype: str) -> Tensor:
    """Whole numbers as they remain in a dtype, which keeps the lowest bits; others as they are."""
    if dtype not in INTEGERS or dtype == "int64":
        return values
    lowest = least(dtype)
    return ((values - lowest) & ((1 << bits_of(dtype)) - 1)) + lowest


def root(values: Tensor) -> Tensor:
    """Square root of what is not negative, with gradient 0 at 0, where sums of squares have their minimum."""
    positive = values > 0
    return torch.where(positive, torch.sqrt(torch.where(positive, values, 1.0)), values)


def plain(function: Callable[..., Tensor]) -> Formula:
    """A formula that looks at no attribute."""
    return lambda call, *inputs: function(*inputs)


def along(values: Tensor, axis: int, rank: int) -> Tensor:
    """A vector as a tensor of this rank that varies along one axis."""
    return values.reshape([-1 if at == axis else 1 for at in range(rank)])

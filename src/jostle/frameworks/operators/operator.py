"""What an operator is: how its output type follows, which attributes it takes, what it needs besides its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

import numpy as np

from jostle.frameworks.graph import Array, Attributes, Invalid, TensorType
from jostle.frameworks.operators.subtracted import Sizes

Types = Sequence[TensorType]
Infer = Callable[[Types, Attributes], TensorType]
Accepts = Callable[[TensorType], bool]  # whether an operator is defined on a first input
Together = Callable[[TensorType, np.random.Generator], dict[str, Any]]
# The variances that a normalisation divides by the roots of, from its inputs and attributes.
Variance = Callable[[Sequence[Array], Attributes], Array]


class OperandDomain(Protocol):
    """The values that an attribute may take."""

    def draw(self, first: TensorType, rng: np.random.Generator) -> Any:
        """One of them, fit for this first input; Invalid if there is none."""

    def holds(self, value: Any) -> bool: ...


@dataclass(frozen=True)
class Wanted:
    """Another input that a new node needs."""

    shape: tuple[int, ...]
    dtype: str
    filled: str  # with what: "weights", "values", "mean", "variance", "nonzero", "mask", "indices", "grid", "shifts"
    limit: int = 0  # of indices: they lie in [0, limit)


Extras = Callable[[TensorType, Attributes, np.random.Generator], Sequence[Wanted]]


def nothing_else(first: TensorType, attributes: Attributes, rng: np.random.Generator) -> Sequence[Wanted]:
    return ()


class Rounding(Enum):
    """What rounding does to the floats that an operator computes, and to their gradients."""

    EXACT = auto()  # nothing is rounded, so a framework must get it right to the last bit
    NARROWING = auto()  # only what becomes float32 is rounded, unless it was a bool
    ONCE = auto()  # IEEE 754 says to which number a result is rounded, such as a sum of two
    RELATIVE = auto()  # a result is off by a share of its own size
    # The gradient subtracts numbers of the size of the gradient that comes in, however small the result is.
    SATURATING = auto()
    # So it does, with logarithms near 0 or x: what it keeps of e to the power of them depends on their size.
    LOGARITHMIC = auto()

    @property
    def saturates(self) -> bool:
        return self in (Rounding.SATURATING, Rounding.LOGARITHMIC)


@dataclass(frozen=True)
class Operator:
    """One operator with one output, the same on every framework."""

    name: str
    meaning: str
    infer: Infer
    accepts: Accepts
    domains: Mapping[str, OperandDomain] = field(default_factory=dict)
    extras: Extras = nothing_else
    differentiable: bool = True
    discontinuous: bool = False  # its output may jump where its input hardly changes
    together: Together | None = None  # draws all attributes, where they depend on each other
    rounding: Rounding = Rounding.RELATIVE
    subtracts: Sizes | None = None  # how large the numbers are of which the formula subtracts some
    variance: Variance | None = None  # of a normalisation by a variance and an attribute epsilon
    unspecified: str = ""  # why any result is right where an input is not finite; empty where that is specified

    def draw(self, first: TensorType, rng: np.random.Generator) -> dict[str, Any]:
        """Attributes for a node on such an input."""
        if self.together is not None:
            return self.together(first, rng)
        return {name: domain.draw(first, rng) for name, domain in self.domains.items()}


@dataclass(frozen=True)
class Choice:
    values: tuple[Any, ...]

    def draw(self, first: TensorType, rng: np.random.Generator) -> Any:
        return self.values[rng.integers(len(self.values))]

    def holds(self, value: Any) -> bool:
        return value in self.values and type(value) in {type(one) for one in self.values}


@dataclass(frozen=True)
class Whole:
    low: int
    high: int  # included

    def draw(self, first: TensorType, rng: np.random.Generator) -> int:
        return int(rng.integers(self.low, self.high + 1))

    def holds(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Real:
    """Any number; those drawn are few, so that equal classes of attributes are met again."""

    usual: tuple[float, ...]

    def draw(self, first: TensorType, rng: np.random.Generator) -> float:
        return self.usual[rng.integers(len(self.usual))]

    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)


FLAG = Choice((False, True))


@dataclass(frozen=True)
class Drawn:
    """A list of whole numbers, or one, that depends on the input it is drawn for."""

    one: Callable[[TensorType, np.random.Generator], Any]

    def draw(self, first: TensorType, rng: np.random.Generator) -> Any:
        return self.one(first, rng)

    def holds(self, value: Any) -> bool:
        values = value if isinstance(value, list) else [value]
        return all(isinstance(item, int) and not isinstance(item, bool) for item in values)


def any_axis(first: TensorType, rng: np.random.Generator) -> int:
    require(first.rank > 0, "there is no axis")
    return int(rng.integers(first.rank))


def some_axes(first: TensorType, rng: np.random.Generator) -> list[int]:
    require(first.rank > 0, "there is no axis")
    count = int(rng.integers(1, first.rank + 1))
    return sorted(int(axis) for axis in rng.permutation(first.rank)[:count])


AXIS, AXES = Drawn(any_axis), Drawn(some_axes)
# By attribute: the number that changes nothing.
NEUTRAL = {
    **dict.fromkeys(("strides", "dilations", "groups", "steps", "repeats", "block"), 1),
    **dict.fromkeys(("before", "after", "padding", "output_padding", "diagonal", "shift", "correction"), 0),
}


def per_spatial(low: int, high: int) -> Drawn:
    """One number for each axis after batch and channels."""
    return Drawn(lambda first, rng: [int(value) for value in rng.integers(low, high + 1, max(first.rank - 2, 0))])


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise Invalid(reason)


def require_axis(axis: Any, rank: int) -> None:
    require(isinstance(axis, int) and 0 <= axis < rank, f"axis {axis} is not in [0, {rank})")


def require_axes(axes: Sequence[int], rank: int) -> None:
    for axis in axes:
        require_axis(axis, rank)
    require(list(axes) == sorted(set(axes)), f"axes {list(axes)} are not in order")


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """As numpy does it."""
    try:
        return tuple(int(size) for size in np.broadcast_shapes(*shapes))
    except ValueError as error:
        raise Invalid(f"shapes {', '.join(map(str, shapes))} do not go together") from error


def same_dtype(types: Types) -> str:
    require(len({one.dtype for one in types}) == 1, f"dtypes differ: {', '.join(one.dtype for one in types)}")
    return types[0].dtype


def count_of(types: Types, *counts: int) -> None:
    require(len(types) in counts, f"takes {' or '.join(map(str, counts))} inputs, not {len(types)}")


def is_float(first: TensorType) -> bool:
    return first.is_float


def is_integer(first: TensorType) -> bool:
    return first.dtype in ("int8", "uint8", "int32", "int64")


def is_bool(first: TensorType) -> bool:
    return first.dtype == "bool"


def is_number(first: TensorType) -> bool:
    return first.dtype != "bool"


def is_wide(first: TensorType) -> bool:
    """Dtypes that sums and the like are defined on everywhere without surprises of promotion."""
    return first.dtype in ("float32", "float64", "int32", "int64")


def anything(first: TensorType) -> bool:
    return True

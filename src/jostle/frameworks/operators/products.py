"""Products with matrices."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats, is_rows, weights
from jostle.frameworks.operators.operator import Operator, Types, Wanted, broadcast, require


def _matmul(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    a, b = types
    require(a.rank >= 2 and b.rank >= 2 and a.shape[-1] == b.shape[-2], f"{a} and {b} cannot be multiplied")
    return TensorType((*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype)


def _matmul_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    batch = first.shape[:-2] if rng.random() < 0.5 else ()
    return (weights((*batch, first.shape[-1], int(rng.integers(1, 7))), first),)


def _linear(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    x, weight, bias = types
    require(x.rank >= 1 and weight.rank == 2 and weight.shape[1] == x.shape[-1], f"{weight} does not fit {x}")
    require(bias.shape == weight.shape[:1], f"{bias} does not fit {weight}")
    return TensorType((*x.shape[:-1], weight.shape[0]), dtype)


def _linear_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    units = int(rng.integers(1, 9))
    return weights((units, first.shape[-1]), first), weights((units,), first)


PRODUCTS = (
    Operator(
        "matmul",
        "product of matrices, broadcast over the axes before",
        _matmul,
        lambda x: x.is_float and x.rank >= 2,
        {},
        _matmul_extras,
    ),
    Operator("linear", "x wᵀ + b", _linear, is_rows, {}, _linear_extras),
)

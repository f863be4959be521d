"""Activations with inputs of their own."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import along, is_channelled, per_channel, weights
from jostle.frameworks.operators.operator import AXIS, Operator, Real, Rounding, Types, Wanted, count_of, require


def _glu(types: Types, attributes: Attributes) -> TensorType:
    first = along(types, attributes)
    axis = attributes["axis"]
    require(first.shape[axis] % 2 == 0, "the axis cannot be halved")
    return TensorType((*first.shape[:axis], first.shape[axis] // 2, *first.shape[axis + 1 :]), first.dtype)


def _dropout(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    require(types[0].is_float and types[1] == TensorType(types[0].shape, "bool"), "the mask does not fit")
    require(0 <= attributes["rate"] < 1, "the rate is in [0, 1)")
    return types[0]


ACTIVATIONS = (
    Operator(
        "prelu",
        "x where x > 0 else slope x, a slope per channel",
        per_channel(1),
        is_channelled,
        {},
        lambda x, a, rng: (weights(x.shape[1:2], x),),
    ),
    Operator(
        "glu",
        "first half times sigmoid of the second along an axis",
        _glu,
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS},
        rounding=Rounding.SATURATING,
    ),
    Operator(
        "dropout",
        "x mask / (1 - rate); the mask is an input",
        _dropout,
        lambda x: x.is_float,
        {"rate": Real((0.1, 0.5, 0.9))},
        lambda x, a, rng: (Wanted(x.shape, "bool", "mask"),),
    ),
)

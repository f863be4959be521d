"""Operators that put elements in order."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import has_wide_axes
from jostle.frameworks.operators.operator import (
    AXIS,
    FLAG,
    Infer,
    Operator,
    Rounding,
    Types,
    Whole,
    count_of,
    is_wide,
    require,
    require_axis,
)


def _sort(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(is_wide(types[0]), f"is not defined on {types[0].dtype}")
    require_axis(attributes["axis"], types[0].rank)
    return types[0]


def _top(dtype: str | None) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        first = _sort(types, attributes)
        axis, count = attributes["axis"], attributes["k"]
        require(0 < count <= first.shape[axis], "k is larger than the axis")
        return TensorType((*first.shape[:axis], count, *first.shape[axis + 1 :]), dtype or first.dtype)

    return infer


SORTING = (
    Operator(
        "sort",
        "in order along an axis; undefined with NaN",
        _sort,
        has_wide_axes,
        {"axis": AXIS, "descending": FLAG},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "topk_values",
        "the k largest (or smallest) in order; undefined with NaN",
        _top(None),
        has_wide_axes,
        {"k": Whole(1, 3), "axis": AXIS, "largest": FLAG},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "topk_indices",
        "where they are, as int64; undefined with NaN or ties",
        _top("int64"),
        has_wide_axes,
        {"k": Whole(1, 3), "axis": AXIS, "largest": FLAG},
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
)

"""Operators that combine the elements along axes, or put them in order."""

from __future__ import annotations

from collections.abc import Callable

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import has_wide_axes
from jostle.frameworks.operators.operator import (
    AXES,
    AXIS,
    FLAG,
    Accepts,
    Choice,
    Infer,
    Operator,
    Rounding,
    Types,
    Whole,
    count_of,
    is_bool,
    is_float,
    is_wide,
    require,
    require_axes,
    require_axis,
)
from jostle.frameworks.operators.subtracted import Sizes, all_inputs, squares


def reduced(shape: tuple[int, ...], axes: list[int], keepdims: bool) -> tuple[int, ...]:
    kept = [(1 if axis in axes else size) for axis, size in enumerate(shape) if keepdims or axis not in axes]
    return tuple(kept)


def over_axes(accepts: Accepts, *, empty: bool, dtype: str | None = None) -> Infer:
    """A reduction over the attribute `axes`, of which some may be empty where it has a value then."""

    def infer(types: Types, attributes: Attributes) -> TensorType:
        count_of(types, 1)
        first, axes = types[0], attributes["axes"]
        require(accepts(first), f"is not defined on {first.dtype}")
        require_axes(axes, first.rank)
        require(len(axes) > 0, "no axis is reduced")
        require(empty or all(first.shape[axis] > 0 for axis in axes), "has no value over an empty axis")
        return TensorType(reduced(first.shape, axes, attributes["keepdims"]), dtype or first.dtype)

    return infer


def _reduction(
    name: str,
    meaning: str,
    accepts: Accepts = is_wide,
    *,
    empty: bool = True,
    flat: bool = False,
    dtype: str | None = None,
    rounding: Rounding = Rounding.RELATIVE,
    subtracts: Sizes | None = None,
    **domains: Choice,
) -> Operator:
    return Operator(
        name,
        meaning,
        over_axes(accepts, empty=empty, dtype=dtype),
        lambda first: first.rank > 0 and accepts(first),
        {"axes": AXES, "keepdims": FLAG, **domains},
        differentiable=not flat,
        discontinuous=flat,
        rounding=rounding,
        subtracts=subtracts,
    )


CORRECTION = Choice((0, 1))


def _one_axis(accepts: Accepts, dtype: str | None = None) -> Callable[[Types, Attributes], TensorType]:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        count_of(types, 1)
        first, axis = types[0], attributes["axis"]
        require(accepts(first), f"is not defined on {first.dtype}")
        require_axis(axis, first.rank)
        require(first.shape[axis] > 0, "has no value over an empty axis")
        return TensorType(reduced(first.shape, [axis], attributes["keepdims"]), dtype or first.dtype)

    return infer


def _arg(name: str, meaning: str) -> Operator:
    return Operator(
        name,
        meaning,
        _one_axis(is_wide, "int64"),
        lambda first: first.rank > 0 and is_wide(first),
        {"axis": AXIS, "keepdims": FLAG},
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    )


def _along(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(is_wide(types[0]), f"is not defined on {types[0].dtype}")
    require_axis(attributes["axis"], types[0].rank)
    return types[0]


def _along_floats(types: Types, attributes: Attributes) -> TensorType:
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    return _along(types, attributes)


def _has_axis(accepts: Accepts) -> Accepts:
    return lambda first: first.rank > 0 and accepts(first)


REDUCTIONS = (
    _reduction("sum", "sum; 0 over an empty axis; whole numbers wrap around"),
    _reduction("mean", "mean", is_float, empty=False),
    _reduction("prod", "product; 1 over an empty axis; whole numbers wrap around"),
    _reduction("max", "largest; NaN if one is", empty=False, rounding=Rounding.EXACT),
    _reduction("min", "smallest; NaN if one is", empty=False, rounding=Rounding.EXACT),
    _reduction("l1_norm", "Σ|x|", is_float),
    _reduction("l2_norm", "√Σx²", is_float),
    _reduction(
        "logsumexp", "log Σ eˣ, without overflow on the way", is_float, empty=False, rounding=Rounding.LOGARITHMIC
    ),
    _reduction(
        "var",
        "Σ(x - mean)² / (n - correction)",
        is_float,
        empty=False,
        correction=CORRECTION,
        rounding=Rounding.SATURATING,
        subtracts=squares,
    ),
    _reduction(
        "std",
        "square root of var",
        is_float,
        empty=False,
        correction=CORRECTION,
        rounding=Rounding.SATURATING,
        subtracts=all_inputs,
    ),
    _reduction("all", "whether all hold", is_bool, flat=True, rounding=Rounding.EXACT),
    _reduction("any", "whether one holds", is_bool, flat=True, rounding=Rounding.EXACT),
    _reduction("count_nonzero", "how many are not 0, as int64", flat=True, dtype="int64", rounding=Rounding.EXACT),
    _arg("argmax", "first position of the largest, as int64; undefined with NaN"),
    _arg("argmin", "first position of the smallest, as int64; undefined with NaN"),
    Operator(
        "cumsum",
        "sums of all up to each along an axis; exclusive: without itself; reverse: from the end",
        _along,
        _has_axis(is_wide),
        {"axis": AXIS, "exclusive": FLAG, "reverse": FLAG},
    ),
    Operator("cumprod", "products of all up to each", _along, _has_axis(is_wide), {"axis": AXIS}),
    Operator(
        "cummax",
        "largest of all up to each; undefined with NaN",
        _along,
        _has_axis(is_wide),
        {"axis": AXIS},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "logcumsumexp",
        "log of cumsum of eˣ",
        _along_floats,
        _has_axis(is_float),
        {"axis": AXIS},
        rounding=Rounding.LOGARITHMIC,
    ),
    Operator(
        "softmax",
        "eˣ / Σ eˣ along an axis",
        _along_floats,
        _has_axis(is_float),
        {"axis": AXIS},
        rounding=Rounding.SATURATING,
    ),
    Operator(
        "log_softmax",
        "log of softmax",
        _along_floats,
        _has_axis(is_float),
        {"axis": AXIS},
        rounding=Rounding.LOGARITHMIC,
    ),
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
        {"k": Whole(1, 8), "axis": AXIS, "largest": FLAG},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "topk_indices",
        "where they are, as int64; undefined with NaN or ties",
        _top("int64"),
        has_wide_axes,
        {"k": Whole(1, 8), "axis": AXIS, "largest": FLAG},
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
)

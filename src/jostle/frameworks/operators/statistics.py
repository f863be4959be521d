"""Operators that describe the elements along axes: norms, quantiles, counts, differences."""

from __future__ import annotations

import math
from typing import Any

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import has_wide_axes
from jostle.frameworks.operators.operator import (
    AXES,
    AXIS,
    FLAG,
    Accepts,
    Choice,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Whole,
    count_of,
    is_float,
    is_wide,
    require,
    require_axis,
)
from jostle.frameworks.operators.reductions import over_axes, reduced

HALFWAY_UNSPECIFIED = "No documentation of a quantile says what lies between infinity and a number"
CANCELLING_UNSPECIFIED = "No documentation says in which order the parts are added up, so what infinities cancel"
INFINITE, LARGEST_COUNT = float("inf"), 1000


def _reduction(name: str, meaning: str, accepts: Accepts = is_float, **domains: OperandDomain) -> Operator:
    return Operator(
        name,
        meaning,
        over_axes(accepts, empty=False),
        lambda first: first.rank > 0 and first.size > 0 and accepts(first),
        {"axes": AXES, "keepdims": FLAG, **domains},
    )


def _one_axis(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, axis = types[0], attributes["axis"]
    require(is_wide(first), f"is not defined on {first.dtype}")
    require_axis(axis, first.rank)
    require(first.shape[axis] > 0, "has no value over an empty axis")
    return TensorType(reduced(first.shape, [axis], attributes["keepdims"]), first.dtype)


def _one_axis_of_floats(types: Types, attributes: Attributes) -> TensorType:
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    return _one_axis(types, attributes)


def _quantile(types: Types, attributes: Attributes) -> TensorType:
    require(0 <= attributes["q"] <= 1, "q is in [0, 1]")
    return _one_axis_of_floats(types, attributes)


def _kth_value(types: Types, attributes: Attributes) -> TensorType:
    found = _one_axis(types, attributes)
    require(0 < attributes["k"] <= types[0].shape[attributes["axis"]], "k is larger than the axis")
    return found


def _is_row(first: TensorType) -> bool:
    return first.is_float and first.rank > 0 and first.size > 0


def _ordered(name: str, meaning: str, infer: Infer, rounding: Rounding, **domains: OperandDomain) -> Operator:
    exact = rounding is Rounding.EXACT
    return Operator(
        name,
        meaning,
        infer,
        has_wide_axes if exact else _is_row,
        {"axis": AXIS, "keepdims": FLAG, **domains},
        rounding=rounding,
        unspecified="" if exact else HALFWAY_UNSPECIFIED,
    )


SUMS = (
    _reduction("nansum", "sum of what is a number; 0 if none is"),
    _reduction("nanmean", "mean of what is a number; NaN if none is"),
    _reduction("sum_square", "Σx²; whole numbers wrap around", is_wide),
    _reduction("log_sum", "log Σx"),
    _reduction(
        "lp_norm",
        "(Σ|x|ᵖ)^(1/p); how many are not 0 for p = 0; the largest |x| for p = ∞, the smallest for -∞",
        p=Choice((2.0, 1.0, 3.0, 0.0, INFINITE, -INFINITE)),
    ),
)


def _no_axes(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    return types[0]


OVER_NO_AXES = Operator(
    "reduce_no_axes",
    "sum, mean, product, largest or smallest over no axis: x itself",
    _no_axes,
    is_float,
    {"kind": Choice(("sum", "mean", "prod", "max", "min"))},
    rounding=Rounding.EXACT,
)
QUANTILES = (
    _ordered(
        "median", "the middle one, or the mean of both; undefined with NaN", _one_axis_of_floats, Rounding.RELATIVE
    ),
    _ordered("nanmedian", "the median of what is a number; NaN if none is", _one_axis_of_floats, Rounding.RELATIVE),
    _ordered("lower_median", "the middle one, or the lower of both; undefined with NaN", _one_axis, Rounding.EXACT),
    _ordered(
        "quantile",
        "what lies at q (n - 1) in order, linear between neighbours; undefined with NaN",
        _quantile,
        Rounding.RELATIVE,
        q=Real((0.5, 0.25, 0.9, 0.0, 1.0)),
    ),
    _ordered("kth_value", "the k-th smallest, from 1; undefined with NaN", _kth_value, Rounding.EXACT, k=Whole(1, 3)),
)


def _along(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(is_wide(types[0]), f"is not defined on {types[0].dtype}")
    require_axis(attributes["axis"], types[0].rank)
    return types[0]


def _order(types: Types, attributes: Attributes) -> TensorType:
    return TensorType(_along(types, attributes).shape, "int64")


def _diff(types: Types, attributes: Attributes) -> TensorType:
    first, axis, times = _along(types, attributes), attributes["axis"], attributes["n"]
    require(0 < times < first.shape[axis], "the axis is too short")
    return TensorType((*first.shape[:axis], first.shape[axis] - times, *first.shape[axis + 1 :]), first.dtype)


def _trapezoid(types: Types, attributes: Attributes) -> TensorType:
    first = _along(types, attributes)
    require(first.is_float and first.shape[attributes["axis"]] > 1, "needs two floats or more")
    return TensorType(reduced(first.shape, [attributes["axis"]], False), first.dtype)


def _bin_counts(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].is_float and types[0].size > 0, "needs floats")
    require(0 < attributes["bins"] <= LARGEST_COUNT, "there are from 1 to 1,000 bins")
    low, high = attributes["low"], attributes["high"]
    require(math.isfinite(low) and math.isfinite(high) and low < high, "low is not below high")
    return TensorType((attributes["bins"],), "int64")


def _bucketize(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(is_wide(types[0]), f"is not defined on {types[0].dtype}")
    return TensorType(types[0].shape, "int64")


def _variables(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first = types[0]
    require(first.is_float and first.rank == 2, "is defined on matrices")
    require(first.shape[0] > 1 and first.shape[1] > 1, "needs two variables and two observations")
    return TensorType((first.shape[0], first.shape[0]), first.dtype)


def _is_observed(first: TensorType) -> bool:
    return first.is_float and first.rank == 2 and min(first.shape) > 1


def _flat(name: str, meaning: str, infer: Infer, accepts: Accepts, **domains: Any) -> Operator:
    return Operator(
        name,
        meaning,
        infer,
        accepts,
        domains,
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    )


BOUNDARIES = Choice(([-1.0, 0.0, 0.5, 2.0], [1.0], [-2.0, 3.0]))
SCANS = (
    Operator(
        "cummin",
        "smallest of all up to each; undefined with NaN",
        _along,
        has_wide_axes,
        {"axis": AXIS},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "diff",
        "each minus the one before it along an axis, n times",
        _diff,
        has_wide_axes,
        {"axis": AXIS, "n": Whole(1, 2)},
    ),
    Operator(
        "trapezoid",
        "dx times the sum of the means of neighbours along an axis",
        _trapezoid,
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS, "dx": Real((1.0, 0.5))},
        unspecified=CANCELLING_UNSPECIFIED,
    ),
    Operator(
        "covariance",
        "Σ(x - mean x)(y - mean y) / (n - correction) of every pair of rows",
        _variables,
        _is_observed,
        {"correction": Choice((0, 1))},
        rounding=Rounding.SATURATING,
        unspecified=CANCELLING_UNSPECIFIED,
    ),
    Operator(
        "correlation",
        "covariance of every pair of rows by both deviations",
        _variables,
        _is_observed,
        {},
        rounding=Rounding.SATURATING,
        unspecified=CANCELLING_UNSPECIFIED,
    ),
)
POSITIONS = (
    _flat(
        "argsort",
        "positions in the order of their values, equal ones in their own order, as int64; undefined with NaN",
        _order,
        has_wide_axes,
        axis=AXIS,
        descending=FLAG,
    ),
    _flat(
        "bin_counts",
        "how many values lie in each of so many equal parts of [low, high], as int64; undefined with NaN",
        _bin_counts,
        lambda x: x.is_float and x.size > 0,
        bins=Whole(1, 6),
        low=Real((-2.0, -1.0)),
        high=Real((2.0, 1.0)),
    ),
    _flat(
        "bucketize",
        "how many boundaries are below x (or at it, if right), as int64; undefined with NaN",
        _bucketize,
        is_wide,
        boundaries=BOUNDARIES,
        right=FLAG,
    ),
)
STATISTICS = (*SUMS, OVER_NO_AXES, *QUANTILES, *SCANS, *POSITIONS)

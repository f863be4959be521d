"""Activations that only some frameworks have, or that they have with settings of their own."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import along
from jostle.frameworks.operators.operator import (
    AXIS,
    Infer,
    Operator,
    Real,
    Rounding,
    Types,
    count_of,
    require,
    require_axis,
)
from jostle.frameworks.operators.pointwise import pointwise
from jostle.frameworks.operators.subtracted import itself


def _low_below_high(attributes: Attributes, first: TensorType) -> None:
    require(attributes["low"] <= attributes["high"], "low is above high")


def _positive_beta(attributes: Attributes, first: TensorType) -> None:
    require(attributes["beta"] > 0, "beta is above 0")


UNGATED = (
    pointwise(
        "threshold",
        "x where x > threshold else value",
        jumps=True,
        rounding=Rounding.EXACT,
        threshold=Real((0.5, 0.0, -0.5)),
        value=Real((0.0, -1.0, 2.5)),
    ),
    pointwise(
        "thresholded_relu", "x where x > alpha else 0", jumps=True, rounding=Rounding.EXACT, alpha=Real((1.0, 0.5, 0.0))
    ),
    pointwise(
        "hardtanh",
        "min(max(x, low), high)",
        rounding=Rounding.EXACT,
        check=_low_below_high,
        low=Real((-1.0, -0.5)),
        high=Real((1.0, 2.0)),
    ),
    pointwise(
        "hardsigmoid_slope",
        "min(max(slope x + 1/2, 0), 1)",
        rounding=Rounding.SATURATING,
        slope=Real((0.25, 0.2)),
    ),
    pointwise("tanhshrink", "x - tanh(x)", rounding=Rounding.SATURATING, subtracts=itself),
    pointwise("quick_gelu", "x sigmoid(1.702 x)", rounding=Rounding.SATURATING, subtracts=itself),
    pointwise("swish", "x sigmoid(beta x)", rounding=Rounding.SATURATING, subtracts=itself, beta=Real((1.0, 0.5, 2.0))),
    pointwise("squared_relu", "max(x, 0)²"),
    pointwise(
        "squareplus",
        "(x + √(x² + beta)) / 2",
        rounding=Rounding.SATURATING,
        subtracts=itself,
        check=_positive_beta,
        beta=Real((4.0, 0.5)),
    ),
    pointwise("sparse_plus", "0 where x ≤ -1, (x + 1)² / 4 up to 1, x above", rounding=Rounding.SATURATING),
    pointwise(
        "scaled_tanh",
        "alpha tanh(beta x)",
        rounding=Rounding.SATURATING,
        alpha=Real((1.75, 0.5)),
        beta=Real((0.625, 2.0)),
    ),
    pointwise(
        "softplus_beta",
        "log(1 + exp(beta x)) / beta; x itself where beta x > 40",
        rounding=Rounding.LOGARITHMIC,
        check=_positive_beta,
        beta=Real((1.0, 0.5, 2.0)),
    ),
    Operator(
        "softmin",
        "exp(-x) / Σ exp(-x) along an axis",
        along,
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS},
        rounding=Rounding.SATURATING,
    ),
)


def _resized_axis(times: int, parts: int) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        count_of(types, 1)
        first, axis = types[0], attributes["axis"]
        require(first.is_float, f"is not defined on {first.dtype}")
        require_axis(axis, first.rank)
        require(first.shape[axis] % parts == 0, "the axis cannot be halved")
        size = first.shape[axis] * times // parts
        return TensorType((*first.shape[:axis], size, *first.shape[axis + 1 :]), first.dtype)

    return infer


def _halving(name: str, meaning: str) -> Operator:
    accepts, domains = (lambda x: x.is_float and x.rank > 0), {"axis": AXIS}
    return Operator(name, meaning, _resized_axis(1, 2), accepts, domains, rounding=Rounding.SATURATING)


GATED = (
    _halving("swiglu", "silu of the first half times the second along an axis"),
    _halving("geglu", "first half times gelu of the second along an axis"),
    _halving("reglu", "first half times relu of the second along an axis"),
    Operator(
        "crelu",
        "relu of x, and then relu of -x, along an axis",
        _resized_axis(2, 1),
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS},
        rounding=Rounding.EXACT,
    ),
)
OTHER_ACTIVATIONS = (*UNGATED, *GATED)

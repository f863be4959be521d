"""Arithmetic of every element beyond the four operations: with plain numbers, on bits of floats, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.elementwise import partner_shape
from jostle.frameworks.operators.operator import (
    FLAG,
    Choice,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    broadcast,
    count_of,
    is_integer,
    is_wide,
    require,
)
from jostle.frameworks.operators.pointwise import pointwise

LARGEST_SCALAR = 2**31 - 1
INFINITE_UNSPECIFIED = "No documentation says in which order the parts are computed, so what infinities cancel"
FRAC_UNSPECIFIED = "No documentation of frac says what it is of infinity"


@dataclass(frozen=True)
class Scalar:
    """A plain number, a whole one for whole numbers, so that no framework promotes the tensor to another dtype."""

    wholes: tuple[int, ...]
    reals: tuple[float, ...]

    def draw(self, first: TensorType, rng: np.random.Generator) -> int | float:
        if first.is_float and rng.random() < 0.8:
            return self.reals[rng.integers(len(self.reals))]
        return self.wholes[rng.integers(len(self.wholes))]

    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(attributes: Attributes, first: TensorType) -> None:
    scalar = attributes["scalar"]
    require(first.is_float or isinstance(scalar, int), "whole numbers take a whole number")
    require(not isinstance(scalar, int) or abs(scalar) <= LARGEST_SCALAR, "the number is too large")


def _is_not_0(attributes: Attributes, first: TensorType) -> None:
    _fits(attributes, first)
    require(attributes["scalar"] != 0, "divides by 0")


def _is_positive(attributes: Attributes, first: TensorType) -> None:
    _fits(attributes, first)
    require(attributes["scalar"] > 0, "is defined on numbers above 0")


def _is_power(attributes: Attributes, first: TensorType) -> None:
    _fits(attributes, first)
    require(first.is_float or 0 <= attributes["scalar"] < 64, "whole numbers have powers from 0 to 63")


ANY = Scalar((2, -1, 3, 0, 7), (0.5, 0.1, -1.5, 2.0, 1e-3))
NOT_0 = Scalar((2, -1, 3, -4), (0.5, 0.1, -1.5, 3.0))
WITH_SCALARS = (
    pointwise("add_scalar", "x + a number", is_wide, check=_fits, scalar=ANY),
    pointwise("mul_scalar", "x times a number", is_wide, check=_fits, scalar=ANY),
    pointwise("rsub_scalar", "a number - x", is_wide, check=_fits, scalar=ANY),
    pointwise("div_scalar", "x / a number", check=_is_not_0, scalar=NOT_0),
    pointwise("rdiv_scalar", "a number / x", check=_fits, scalar=ANY),
    pointwise(
        "pow_scalar",
        "x to the power of a number; whole numbers wrap around",
        is_wide,
        check=_is_power,
        scalar=Scalar((2, 3, 0, 1), (0.5, -1.0, 2.0, 3.0, -0.5, 1.5)),
    ),
    pointwise(
        "rpow_scalar", "a number to the power of x", check=_is_positive, scalar=Scalar((2, 3, 1), (0.5, 2.0, 10.0))
    ),
    pointwise(
        "remainder_scalar",
        "x - n ⌊x / n⌋ with the sign of n",
        is_wide,
        flat=True,
        check=_is_not_0,
        scalar=Scalar((2, -1, 3, -4), (0.5, 0.75, -1.5, 3.0)),
    ),
    pointwise(
        "floor_divide_scalar",
        "⌊x / n⌋ of whole numbers",
        lambda first: first.dtype in ("int32", "int64"),
        flat=True,
        rounding=Rounding.EXACT,
        check=_is_not_0,
        scalar=NOT_0,
    ),
)
FINITE = Real((0.0, 1.0, -2.0))
ON_FLOATS = (
    pointwise("isfinite", "whether x is neither NaN nor infinite", to="bool", flat=True, rounding=Rounding.EXACT),
    pointwise("isposinf", "whether x is ∞", to="bool", flat=True, rounding=Rounding.EXACT),
    pointwise("isneginf", "whether x is -∞", to="bool", flat=True, rounding=Rounding.EXACT),
    pointwise(
        "signbit",
        "whether x has a minus, also of 0; undefined with NaN",
        to="bool",
        flat=True,
        rounding=Rounding.EXACT,
    ),
    pointwise(
        "nan_to_num",
        "x with other numbers in the place of NaN, ∞ and -∞",
        rounding=Rounding.EXACT,
        nan=FINITE,
        positive=FINITE,
        negative=FINITE,
    ),
    pointwise("frac", "x - trunc(x)", jumps=True, rounding=Rounding.EXACT, unspecified=FRAC_UNSPECIFIED),
    pointwise(
        "round_decimals",
        "nearest number with so many digits after the point (before it if negative), halves to even",
        flat=True,
        decimals=Choice((1, 2, -1)),
    ),
    pointwise("deg2rad", "π x / 180"),
    pointwise("rad2deg", "180 x / π"),
)
PAIRS = (
    pointwise(
        "copysign",
        "|a| with the sign of b; undefined where b is NaN",
        partners=("values",),
        jumps=True,
        rounding=Rounding.EXACT,
    ),
    pointwise(
        "fmax", "the larger; the other one if one is NaN", is_wide, partners=("values",), rounding=Rounding.EXACT
    ),
    pointwise(
        "fmin", "the smaller; the other one if one is NaN", is_wide, partners=("values",), rounding=Rounding.EXACT
    ),
    pointwise(
        "heaviside",
        "0 below 0, 1 above, b at 0; undefined with NaN",
        partners=("values",),
        flat=True,
        rounding=Rounding.EXACT,
    ),
    pointwise("squared_difference", "(a - b)²", is_wide, partners=("values",)),
    pointwise("div_floor", "⌊a / b⌋ of floats; undefined for b = 0 and infinities", partners=("nonzero",), flat=True),
    pointwise(
        "div_trunc",
        "a / b without what follows the point; undefined for b = 0 and infinities",
        partners=("nonzero",),
        flat=True,
    ),
    pointwise("gcd", "greatest common divisor", is_integer, partners=("values",), flat=True, rounding=Rounding.EXACT),
    pointwise(
        "lcm",
        "least common multiple, undefined where it does not fit",
        lambda first: first.dtype in ("int32", "int64"),
        partners=("values",),
        flat=True,
        rounding=Rounding.EXACT,
    ),
    pointwise(
        "isclose",
        "whether |a - b| ≤ absolute + relative |b|, or both are NaN if that counts; undefined where only b is ±∞",
        partners=("values",),
        to="bool",
        flat=True,
        rounding=Rounding.EXACT,
        relative=Real((1e-5, 0.5)),
        absolute=Real((1e-8, 0.25)),
        equal_nan=FLAG,
    ),
)
VALUE = Real((1.0, 0.5, -2.0))
IN_ONE_STEP = (
    pointwise("lerp", "a + c (b - a)", partners=("values", "values"), unspecified=INFINITE_UNSPECIFIED),
    pointwise(
        "addcmul",
        "a + value b c",
        partners=("values", "values"),
        unspecified=INFINITE_UNSPECIFIED,
        value=VALUE,
    ),
    pointwise(
        "addcdiv",
        "a + value b / c",
        partners=("values", "nonzero"),
        unspecified=INFINITE_UNSPECIFIED,
        value=VALUE,
    ),
    pointwise(
        "clip_between",
        "min(max(a, b), c); NaN if one is",
        is_wide,
        partners=("values", "values"),
        rounding=Rounding.EXACT,
    ),
)


def _ldexp(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    require(types[0].is_float and types[1].dtype == "int32", "is defined on floats and int32")
    return TensorType(broadcast(types[0].shape, types[1].shape), types[0].dtype)


def _exponents(first: TensorType, attributes: Attributes, rng: np.random.Generator) -> Sequence[Wanted]:
    return (Wanted(partner_shape(first.shape, rng), "int32", "values"),)


LDEXP = Operator("ldexp", "a 2ᵇ", _ldexp, lambda first: first.is_float, extras=_exponents, rounding=Rounding.RELATIVE)
ARITHMETIC = (*WITH_SCALARS, *ON_FLOATS, *PAIRS, *IN_ONE_STEP, LDEXP)

"""Functions of every element that are named after what they are used for, and are no combination of the usual ones."""

from __future__ import annotations

from jostle.frameworks.operators.operator import Rounding
from jostle.frameworks.operators.pointwise import pointwise

SPECIAL_FUNCTIONS = (
    pointwise("exp2", "2 to the power of x"),
    pointwise("log10", "logarithm to base 10"),
    pointwise("erfc", "1 - erf(x), precise where that is small"),
    pointwise("erfinv", "inverse of erf"),
    pointwise("lgamma", "log |Γ(x)|; undefined at -∞"),
    pointwise("digamma", "Γ'(x) / Γ(x); undefined at 0 and at negative whole numbers"),
    pointwise("i0", "modified Bessel function of order 0"),
    pointwise("i0e", "i0(x) exp(-|x|)", rounding=Rounding.SATURATING),
    pointwise("i1", "modified Bessel function of order 1"),
    pointwise("i1e", "i1(x) exp(-|x|)", rounding=Rounding.SATURATING),
    pointwise("ndtr", "(1 + erf(x / √2)) / 2, the share of a normal distribution below x"),
    pointwise("ndtri", "inverse of ndtr"),
    pointwise("log_ndtr", "log ndtr(x), precise far below 0"),
    pointwise("logit", "log(x / (1 - x)), inverse of sigmoid"),
    pointwise("sinc", "sin(πx) / (πx); 1 at 0"),
    pointwise("entr", "-x log(x); 0 at 0, -∞ below"),
    pointwise("xlogy", "a log(b); 0 where a = 0, NaN where b is NaN", partners=("values",)),
    pointwise("xlog1py", "a log(1 + b); 0 where a = 0, NaN where b is NaN", partners=("values",)),
    pointwise("logaddexp", "log(eᵃ + eᵇ)", partners=("values",), rounding=Rounding.LOGARITHMIC),
    pointwise("logaddexp2", "log₂(2ᵃ + 2ᵇ)", partners=("values",), rounding=Rounding.LOGARITHMIC),
    pointwise("hypot", "√(a² + b²)", partners=("values",)),
)

"""Whole numbers that stand for floats.

Scales are powers of two unless a user gives others: then a framework that multiplies by their inverse rounds to the
same whole number as one that divides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats
from jostle.frameworks.operators.operator import (
    Choice,
    Infer,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    Whole,
    broadcast,
    count_of,
    require,
)

SCALE = Real((0.125, 0.5, 0.0625))
NARROW = ("int8", "uint8")


def _check(attributes: Attributes, dtype: str) -> None:
    zero, limits = attributes["zero_point"], np.iinfo(dtype)
    require(attributes["scale"] > 0, "the scale is above 0")
    require(limits.min <= zero <= limits.max, f"the zero point is no {dtype}")


def _quantize(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    _check(attributes, attributes["to"])
    return TensorType(types[0].shape, attributes["to"])


def _dequantize(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].dtype in NARROW, f"is not defined on {types[0].dtype}")
    _check(attributes, types[0].dtype)
    return TensorType(types[0].shape, "float32")


def _fake_quantize(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    _check(attributes, "int8")
    return types[0]


def _matmul_integer(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    a, b = types
    require(a.dtype == b.dtype == "int8", "is defined on int8")
    require(a.rank >= 2 and b.rank >= 2 and a.shape[-1] == b.shape[-2], f"{a} and {b} cannot be multiplied")
    return TensorType((*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), "int32")


def _other_matrix(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted((first.shape[-1], int(rng.integers(1, 7))), "int8", "values"),)


def _quantizing(name: str, meaning: str, infer: Infer, dtypes: Sequence[str], flat: bool, **domains: Any) -> Operator:
    return Operator(
        name,
        meaning,
        infer,
        lambda first: first.dtype in dtypes,
        {"scale": SCALE, "zero_point": Whole(0, 9), **domains},
        differentiable=not flat,
        discontinuous=flat,
        rounding=Rounding.EXACT if flat else Rounding.RELATIVE,
    )


QUANTIZATION = (
    _quantizing(
        "quantize",
        "x / scale, rounded with halves to even, plus the zero point, cut to what the dtype holds; undefined with NaN",
        _quantize,
        ("float32",),
        True,
        to=Choice(NARROW),
    ),
    _quantizing("dequantize", "(x - zero point) scale, as float32", _dequantize, NARROW, True),
    _quantizing("fake_quantize", "dequantized after it was quantized to int8", _fake_quantize, ("float32",), True),
    Operator(
        "matmul_integer",
        "product of matrices of int8, summed up in int32",
        _matmul_integer,
        lambda first: first.dtype == "int8" and first.rank >= 2,
        {},
        _other_matrix,
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
)

"""Operators that go by rows and columns: triangles of matrices, blocks of images."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.operator import Choice, Operator, Rounding, Types, Whole, count_of, is_number, require

BLOCK, DIAGONAL = Whole(2, 2), Whole(-2, 2)


def _matrix(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].rank >= 2, "is defined on matrices")
    return types[0]


def _depth_to_space(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    block = attributes["block"]
    require(types[0].rank == 4 and block > 0 and types[0].shape[1] % block**2 == 0, "channels do not divide")
    batch, channels, height, width = types[0].shape
    return TensorType((batch, channels // block**2, height * block, width * block), types[0].dtype)


def _space_to_depth(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    block = attributes["block"]
    require(types[0].rank == 4 and block > 0, "is defined on images")
    batch, channels, height, width = types[0].shape
    require(height % block == 0 and width % block == 0, "height or width do not divide")
    return TensorType((batch, channels * block**2, height // block, width // block), types[0].dtype)


GRIDS = (
    Operator(
        "tril",
        "0 above the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "triu",
        "0 below the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "depth_to_space",
        "channels to places, in the order column-row-depth (pixel shuffle) or depth-column-row of ONNX",
        _depth_to_space,
        lambda x: x.rank == 4,
        {"block": BLOCK, "mode": Choice(("crd", "dcr"))},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "space_to_depth",
        "places to channels, block offsets slowest as in ONNX",
        _space_to_depth,
        lambda x: x.rank == 4,
        {"block": BLOCK},
        rounding=Rounding.EXACT,
    ),
)

"""Images at other places than their pixels."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats, is_image
from jostle.frameworks.operators.operator import FLAG, Choice, Operator, Rounding, Types, Wanted, Whole, require
from jostle.frameworks.operators.pooling import SIZE, of_given_size
from jostle.frameworks.operators.subtracted import neighbours

RESIZE_MODES = ("nearest", "nearest_exact", "linear", "linear_align_corners", "cubic", "cubic_align_corners")
UNSPECIFIED = "No documentation of an interpolation says whether a neighbour of weight 0 is read, so whether 0 ∞ counts"


def _resize(types: Types, attributes: Attributes) -> TensorType:
    first = of_given_size(types, attributes)
    require("cubic" not in attributes["mode"] or first.rank == 4, "cubic is defined on images of two axes")
    return first


def _grid_sample(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    x, grid = types
    require(x.rank == 4 and x.size > 0 and grid.rank == 4, "is defined on images of two axes")
    require(grid.shape[0] == x.shape[0] and grid.shape[3] == 2, f"{grid} does not fit {x}")
    return TensorType((x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]), dtype)


def _grid(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted((first.shape[0], int(rng.integers(1, 4)), int(rng.integers(1, 4)), 2), first.dtype, "grid"),)


def _antialiased(types: Types, attributes: Attributes) -> TensorType:
    first = of_given_size(types, attributes)
    require(first.rank == 4, "is defined on images of two axes")
    return first


def _affine_grid(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    require(types[0].rank == 3 and types[0].shape[1:] == (2, 3) and types[0].size > 0, "is defined on [batch, 2, 3]")
    height, width = attributes["height"], attributes["width"]
    require(min(height, width) > 0 and max(height, width) <= LARGEST_GRID, f"sizes are from 1 to {LARGEST_GRID}")
    return TensorType((types[0].shape[0], height, width, 2), dtype)


LARGEST_GRID = 64
SAMPLING = (
    Operator(
        "resize",
        "to another size: nearest ⌊i n/m⌋; nearest_exact ⌊(i + ½) n/m⌋; linear and cubic (a = -0.75) between pixel "
        "centres, or between corners",
        _resize,
        is_image,
        {**SIZE, "mode": Choice(RESIZE_MODES)},
        rounding=Rounding.SATURATING,
        subtracts=neighbours,
        unspecified=UNSPECIFIED,
    ),
    Operator(
        "grid_sample",
        "x at the places that grid [batch, h, w, (x, y)] names in [-1, 1], as torch defines it",
        _grid_sample,
        lambda x: is_image(x) and x.rank == 4,
        {
            "mode": Choice(("bilinear", "nearest", "bicubic")),
            "padding": Choice(("zeros", "border", "reflection")),
            "align_corners": FLAG,
        },
        _grid,
        rounding=Rounding.SATURATING,
        subtracts=neighbours,
        unspecified=UNSPECIFIED,
    ),
    Operator(
        "resize_antialias",
        "to another size by a triangle, or a cubic kernel of a = -0.5, around each place, which is as much wider as "
        "the image gets smaller; what is taken beyond the edges is shared among the others",
        _antialiased,
        lambda x: is_image(x) and x.rank == 4,
        {**SIZE, "mode": Choice(("linear", "cubic"))},
        rounding=Rounding.SATURATING,
        subtracts=neighbours,
        unspecified=UNSPECIFIED,
    ),
    Operator(
        "affine_grid",
        "places of pixels in [-1, 1], from corner to corner or not, moved by each matrix: [batch, height, width, 2]",
        _affine_grid,
        lambda x: x.is_float and x.rank == 3 and x.shape[1:] == (2, 3) and x.size > 0,
        {"height": Whole(1, 5), "width": Whole(1, 5), "align_corners": FLAG},
        unspecified="No documentation says that an infinite number of the matrix is multiplied where the place is 0",
    ),
)

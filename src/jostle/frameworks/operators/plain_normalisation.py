"""Normalisation without a scale and a bias, and response to neighbours of which one more comes after than before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.frameworks.graph import Array, Attributes, TensorType
from jostle.frameworks.operators.kinds import any_divisor, floats, is_channelled, is_filled_rows, is_image
from jostle.frameworks.operators.operator import (
    AXES,
    AXIS,
    Accepts,
    Drawn,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Variance,
    Whole,
    require,
    require_axes,
    require_axis,
)
from jostle.frameworks.operators.subtracted import ONCE, Sizes, typical

EPSILON = Real((1e-5, 1e-3))
LARGEST_SIZE = 64


def _layer_norm(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    require_axis(attributes["axis"], types[0].rank)
    require(types[0].size > 0, "nothing to normalise")
    return types[0]


def _group_norm(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    groups = attributes["groups"]
    require(is_channelled(types[0]), f"is not defined on {types[0]}")
    require(groups > 0 and types[0].shape[1] % groups == 0, "groups do not divide")
    return types[0]


def _image(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    require(is_image(types[0]), f"is not defined on {types[0]}")
    return types[0]


def _response(types: Types, attributes: Attributes) -> TensorType:
    require(0 < attributes["size"] <= LARGEST_SIZE, f"sizes are from 1 to {LARGEST_SIZE}")
    return _image(types, attributes)


def _over_axes(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    require_axes(attributes["axes"], types[0].rank)
    require(len(attributes["axes"]) > 0 and types[0].size > 0, "nothing to normalise")
    return types[0]


def _variance_after(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=tuple(range(attributes["axis"], inputs[0].ndim))))


def _variance_of_groups(inputs: Sequence[Array], attributes: Attributes) -> Array:
    x = inputs[0]
    return np.asarray(np.var(x.reshape(x.shape[0], attributes["groups"], -1), axis=2))


def _variance_of_channels(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=tuple(range(2, inputs[0].ndim))))


def _variance_over_axes(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=tuple(attributes["axes"])))


def _moments(variance: Variance) -> Sizes:
    """(x - mean) / deviation, whose variance may be mean x² - (mean x)²."""

    def sizes(inputs: Sequence[Array], attributes: Attributes) -> float:
        with np.errstate(all="ignore"):  # of what is not finite, which has no size
            deviation = np.sqrt(np.min(variance(inputs, attributes)) + attributes["epsilon"])
            far = typical(np.abs(inputs[0])) / deviation
        return float(ONCE * max(far, far**2))

    return sizes


def _by_variance(
    name: str, meaning: str, infer: Infer, accepts: Accepts, variance: Variance, **domains: OperandDomain
) -> Operator:
    return Operator(
        name,
        meaning,
        infer,
        accepts,
        {**domains, "epsilon": EPSILON},
        rounding=Rounding.SATURATING,
        subtracts=_moments(variance),
        variance=variance,
    )


PLAIN_NORMALISATION = (
    _by_variance(
        "plain_layer_norm",
        "(x - mean) / √(var + epsilon) over all axes from one on",
        _layer_norm,
        is_filled_rows,
        _variance_after,
        axis=AXIS,
    ),
    _by_variance(
        "plain_group_norm",
        "(x - mean) / √(var + epsilon) of each sample's group of channels",
        _group_norm,
        is_channelled,
        _variance_of_groups,
        groups=Drawn(any_divisor),
    ),
    _by_variance(
        "plain_instance_norm",
        "(x - mean) / √(var + epsilon) of each sample's channel",
        _image,
        is_image,
        _variance_of_channels,
    ),
    _by_variance(
        "standardize",
        "(x - mean) / √(var + epsilon) over some axes",
        _over_axes,
        is_filled_rows,
        _variance_over_axes,
        axes=AXES,
    ),
    Operator(
        "local_response_norm_after",
        "x / (k + alpha / size Σ x²)^beta over the channels from c - ⌊(size - 1)/2⌋ to c + ⌊size/2⌋, as ONNX has it",
        _response,
        is_image,
        {"size": Whole(1, 5), "alpha": Real((0.5, 1e-4)), "beta": Real((0.75, 0.5)), "k": Real((1.0, 2.0))},
        rounding=Rounding.SATURATING,
    ),
)

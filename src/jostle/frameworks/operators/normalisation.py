"""Operators that divide by how large the elements are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.frameworks.graph import Array, Attributes, TensorType
from jostle.frameworks.operators.kinds import (
    Random,
    along,
    any_divisor,
    floats,
    is_channelled,
    is_filled_rows,
    is_image,
    is_rows,
    per_channel,
    weights,
)
from jostle.frameworks.operators.operator import (
    AXIS,
    Drawn,
    Operator,
    Real,
    Rounding,
    Types,
    Variance,
    Wanted,
    Whole,
    require,
    require_axis,
)
from jostle.frameworks.operators.subtracted import ONCE, Sizes, typical

EPSILON = Real((1e-5, 1e-3, 1e-12))


def _group_norm(types: Types, attributes: Attributes) -> TensorType:
    groups = attributes["groups"]
    require(groups > 0 and types[0].rank > 1 and types[0].shape[1] % groups == 0, "groups do not divide")
    return per_channel(2)(types, attributes)


def _scale_and_bias(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return weights(first.shape[1:2], first), weights(first.shape[1:2], first)


def _with_statistics(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    channels = first.shape[1:2]
    return (
        *_scale_and_bias(first, attributes, rng),
        Wanted(channels, first.dtype, "mean"),
        Wanted(channels, first.dtype, "variance"),
    )


def _layer_norm(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    require_axis(attributes["axis"], types[0].rank)
    require(types[0].size > 0, "nothing to normalise")
    require(all(one.shape == types[0].shape[attributes["axis"] :] for one in types[1:]), "scale or bias do not fit")
    return TensorType(types[0].shape, dtype)


def _layer_norm_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    shape = first.shape[attributes["axis"] :]
    return weights(shape, first), weights(shape, first)


def _rms_norm(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    require(types[0].rank > 0 and types[0].size > 0 and types[1].shape == types[0].shape[-1:], "scale does not fit")
    return TensorType(types[0].shape, dtype)


def _same_image(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    require(is_image(types[0]), f"is not defined on {types[0]}")
    return TensorType(types[0].shape, dtype)


def _given_variance(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return inputs[4]


def _variance_per_channel(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=(0, *range(2, inputs[0].ndim))))


def _variance_per_sample(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=tuple(range(2, inputs[0].ndim))))


def _variance_per_group(inputs: Sequence[Array], attributes: Attributes) -> Array:
    x = inputs[0]
    return np.asarray(np.var(x.reshape(x.shape[0], attributes["groups"], -1), axis=2))


def _variance_per_row(inputs: Sequence[Array], attributes: Attributes) -> Array:
    return np.asarray(np.var(inputs[0], axis=tuple(range(attributes["axis"], inputs[0].ndim))))


def _moments(variance: Variance) -> Sizes:
    """(x - mean) scale / deviation, whose variance may be mean x² - (mean x)²."""

    def sizes(inputs: Sequence[Array], attributes: Attributes) -> float:
        with np.errstate(all="ignore"):  # of what is not finite, which has no size
            deviation = np.sqrt(np.min(variance(inputs, attributes)) + attributes["epsilon"])
            far = typical(np.abs(inputs[0])) / deviation
        return float(ONCE * typical(np.abs(inputs[1])) * max(far, far**2))

    return sizes


NORMALISATION = (
    Operator(
        "batch_norm",
        "(x - mean) / √(var + epsilon) scale + bias; inputs x, scale, bias, mean, var",
        per_channel(4),
        is_channelled,
        {"epsilon": EPSILON},
        _with_statistics,
        rounding=Rounding.SATURATING,
        subtracts=_moments(_given_variance),
        variance=_given_variance,
    ),
    Operator(
        "batch_norm_training",
        "(x - mean) / √(var + epsilon) scale + bias with mean and biased var of the batch; inputs x, scale, bias",
        per_channel(2),
        is_channelled,
        {"epsilon": EPSILON},
        _scale_and_bias,
        rounding=Rounding.SATURATING,
        subtracts=_moments(_variance_per_channel),
        variance=_variance_per_channel,
    ),
    Operator(
        "instance_norm",
        "(x - mean) / √(var + epsilon) scale + bias with mean and biased var of each sample's channel",
        per_channel(2),
        is_image,
        {"epsilon": EPSILON},
        _scale_and_bias,
        rounding=Rounding.SATURATING,
        subtracts=_moments(_variance_per_sample),
        variance=_variance_per_sample,
    ),
    Operator(
        "group_norm",
        "(x - mean) / √(var + epsilon) scale + bias with mean and biased var of each sample's group of channels",
        _group_norm,
        is_channelled,
        {"groups": Drawn(any_divisor), "epsilon": EPSILON},
        _scale_and_bias,
        rounding=Rounding.SATURATING,
        subtracts=_moments(_variance_per_group),
        variance=_variance_per_group,
    ),
    Operator(
        "layer_norm",
        "(x - mean) / √(var + epsilon) scale + bias over all axes from one on; scale and bias are of their shape",
        _layer_norm,
        is_filled_rows,
        {"axis": AXIS, "epsilon": EPSILON},
        _layer_norm_extras,
        rounding=Rounding.SATURATING,
        subtracts=_moments(_variance_per_row),
        variance=_variance_per_row,
    ),
    Operator(
        "rms_norm",
        "x / √(mean x² + epsilon) scale over the last axis",
        _rms_norm,
        is_filled_rows,
        {"epsilon": EPSILON},
        lambda x, a, rng: (weights(x.shape[-1:], x),),
        rounding=Rounding.SATURATING,
    ),
    Operator(
        "l2_normalize",
        "x / max(√Σx², epsilon) along an axis",
        along,
        is_rows,
        {"axis": AXIS, "epsilon": EPSILON},
        rounding=Rounding.SATURATING,
    ),
    Operator(
        "local_response_norm",
        "x / (k + alpha / size Σ x²)^beta over the channels from c - ⌊size/2⌋ to c + ⌊(size - 1)/2⌋",
        _same_image,
        is_image,
        {"size": Whole(1, 5), "alpha": Real((1e-4, 0.5)), "beta": Real((0.75, 0.5)), "k": Real((1.0, 2.0))},
        rounding=Rounding.SATURATING,
    ),
)

"""How PyTensor computes activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in

ACTIVATIONS: Mapping[str, Expression] = all_filled_in(
    {
        "threshold": "pt.switch({0} > {threshold}, {0}, {value})",
        "thresholded_relu": "pt.switch({0} > {alpha}, {0}, {zero})",
        "hardtanh": "pt.clip({0}, {low}, {high})",
        "hardsigmoid_slope": "pt.clip({slope} * {0} + {half}, {zero}, {one})",
        "tanhshrink": "{0} - pt.tanh({0})",
        "quick_gelu": "{0} * pt.sigmoid({dtype}(1.702) * {0})",
        "swish": "{0} * pt.sigmoid({beta} * {0})",
        "squared_relu": "pt.sqr(pt.maximum({0}, {zero}))",
        "squareplus": "({0} + pt.sqrt(pt.sqr({0}) + {beta})) * {half}",
        "scaled_tanh": "{alpha} * pt.tanh({beta} * {0})",
        "softplus_beta": "pt.softplus({beta} * {0}) / {beta}",
        "softmin": "pt.special.softmax(-{0}, axis={axis})",
        "crelu": "pt.concatenate([pt.maximum({0}, {zero}), pt.maximum(-{0}, {zero})], axis={axis})",
    }
)

"""How Paddle computes activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import templates

SPLIT = "(lambda first_half, second_half: {gated})(*paddle.split({{0}}, 2, axis={{axis}}))"

ACTIVATIONS: Mapping[str, Expression] = templates(
    {
        "threshold": "F.thresholded_relu({0}, threshold={threshold}, value={value})",
        "thresholded_relu": "F.thresholded_relu({0}, threshold={alpha})",
        "hardtanh": "F.hardtanh({0}, min={low}, max={high})",
        "hardsigmoid_slope": "F.hardsigmoid({0}, slope={slope}, offset=0.5)",
        "tanhshrink": "F.tanhshrink({0})",
        "quick_gelu": "{0} * F.sigmoid(1.702 * {0})",
        "swish": "{0} * F.sigmoid({beta} * {0})",
        "squared_relu": "paddle.square(F.relu({0}))",
        "scaled_tanh": "paddle.stanh({0}, scale_a={beta}, scale_b={alpha})",
        "softplus_beta": "F.softplus({0}, beta={beta}, threshold=40)",
        "softmin": "F.softmax(-{0}, axis={axis})",
        "swiglu": SPLIT.format(gated="F.swiglu(first_half, second_half)"),
        "geglu": SPLIT.format(gated="first_half * F.gelu(second_half)"),
        "reglu": SPLIT.format(gated="first_half * F.relu(second_half)"),
        "crelu": "paddle.concat([F.relu({0}), F.relu(-{0})], axis={axis})",
    }
)

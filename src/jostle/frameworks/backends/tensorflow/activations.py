"""How TensorFlow computes activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import templates

SPLIT = "(lambda first_half, second_half: {gated})(*tf.split({{0}}, 2, axis={{axis}}))"

ACTIVATIONS: Mapping[str, Expression] = templates(
    {
        "threshold": "tf.keras.activations.threshold({0}, {threshold}, {value})",
        "thresholded_relu": "tf.keras.activations.threshold({0}, {alpha}, 0.0)",
        "hardtanh": "tf.clip_by_value({0}, {low}, {high})",
        "hardsigmoid_slope": "tf.clip_by_value({slope} * {0} + 0.5, 0, 1)",
        "tanhshrink": "tf.keras.activations.tanh_shrink({0})",
        "quick_gelu": "{0} * tf.sigmoid(1.702 * {0})",
        "swish": "tf.nn.silu({0}, beta={beta})",
        "squared_relu": "tf.square(tf.nn.relu({0}))",
        "squareplus": "tf.keras.activations.squareplus({0}, {beta})",
        "sparse_plus": "tf.keras.activations.sparse_plus({0})",
        "scaled_tanh": "{alpha} * tf.tanh({beta} * {0})",
        "softplus_beta": "tf.nn.softplus({beta} * {0}) / {beta}",
        "softmin": "tf.nn.softmax(-{0}, axis={axis})",
        "swiglu": SPLIT.format(gated="tf.nn.silu(first_half) * second_half"),
        "geglu": SPLIT.format(gated="first_half * tf.nn.gelu(second_half)"),
        "reglu": SPLIT.format(gated="first_half * tf.nn.relu(second_half)"),
        "crelu": "tf.nn.crelu({0}, axis={axis})",
    }
)

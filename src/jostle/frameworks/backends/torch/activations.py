"""How torch computes activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import templates

# What stands for the halves of the input along an axis.
HALVES = {"{a}": "{0}.chunk(2, dim={axis})[0]", "{b}": "{0}.chunk(2, dim={axis})[1]"}


def of_halves(text: str, halves: Mapping[str, str]) -> str:
    for half, written in halves.items():
        text = text.replace(half, written)
    return text


ACTIVATIONS: Mapping[str, Expression] = templates(
    {
        "threshold": "F.threshold({0}, {threshold}, {value})",
        "thresholded_relu": "F.threshold({0}, {alpha}, 0.0)",
        "hardtanh": "F.hardtanh({0}, {low}, {high})",
        "hardsigmoid_slope": "torch.clamp({slope} * {0} + 0.5, 0, 1)",
        "tanhshrink": "F.tanhshrink({0})",
        "quick_gelu": "{0} * torch.sigmoid(1.702 * {0})",
        "swish": "{0} * torch.sigmoid({beta} * {0})",
        "squared_relu": "torch.square(F.relu({0}))",
        "squareplus": "({0} + torch.sqrt(torch.square({0}) + {beta})) / 2",
        "sparse_plus": "torch.where({0} <= -1, 0, torch.where({0} < 1, torch.square({0} + 1) / 4, {0}))",
        "scaled_tanh": "{alpha} * torch.tanh({beta} * {0})",
        "softplus_beta": "F.softplus({0}, beta={beta}, threshold=40)",
        "softmin": "F.softmin({0}, dim={axis})",
        "swiglu": of_halves("F.silu({a}) * {b}", HALVES),
        "geglu": of_halves("{a} * F.gelu({b})", HALVES),
        "reglu": of_halves("{a} * F.relu({b})", HALVES),
        "crelu": "torch.cat([F.relu({0}), F.relu(-{0})], dim={axis})",
    }
)

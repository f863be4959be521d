"""Formulas of the activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import gelu, not_below, sigmoid, softplus, within
from jostle.frameworks.reference.numbers import Formula, plain
from jostle.frameworks.reference.reductions import softmax
from jostle.frameworks.reference.undefined import undefined_with_nan


def threshold(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "threshold")
    return torch.where(x > call.attributes["threshold"], x, call.attributes["value"])


def thresholded_relu(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "thresholded_relu")
    return torch.where(x > call.attributes["alpha"], x, 0.0)


def squareplus(call: Call, x: Tensor) -> Tensor:
    beta = call.attributes["beta"]
    below = x < 0
    size = torch.sqrt(torch.square(x) + beta)
    # Far below 0, x + size would be 0: it is beta / (size - x).
    return torch.where(below, beta / (size + x.abs()), x + size) / 2


def sparse_plus(x: Tensor) -> Tensor:
    between = torch.square(torch.where(x.abs() < 1, x, 0.0) + 1) / 4
    return torch.where(x <= -1, 0.0, torch.where(x < 1, between, x))


def softplus_beta(call: Call, x: Tensor) -> Tensor:
    beta: float = call.attributes["beta"]
    return softplus(x * beta) / beta


def _gated(combine: Callable[[Tensor, Tensor], Tensor]) -> Formula:
    def formula(call: Call, x: Tensor) -> Tensor:
        axis = call.attributes["axis"]
        half = x.shape[axis] // 2
        return combine(x.narrow(axis, 0, half), x.narrow(axis, half, half))

    return formula


def relu(x: Tensor) -> Tensor:
    return not_below(x, 0.0)


ACTIVATIONS: Mapping[str, Formula] = {
    "threshold": threshold,
    "thresholded_relu": thresholded_relu,
    "hardtanh": lambda call, x: within(x, call.attributes["low"], call.attributes["high"]),
    "hardsigmoid_slope": lambda call, x: within(call.attributes["slope"] * x + 0.5, 0.0, 1.0),
    "tanhshrink": plain(lambda x: x - torch.tanh(x)),
    "quick_gelu": plain(lambda x: x * sigmoid(1.702 * x)),
    "swish": lambda call, x: x * sigmoid(call.attributes["beta"] * x),
    "squared_relu": plain(lambda x: torch.square(relu(x))),
    "squareplus": squareplus,
    "sparse_plus": plain(sparse_plus),
    "scaled_tanh": lambda call, x: call.attributes["alpha"] * torch.tanh(call.attributes["beta"] * x),
    "softplus_beta": softplus_beta,
    "softmin": lambda call, x: softmax(-x, call.attributes["axis"]),
    "swiglu": _gated(lambda a, b: a * sigmoid(a) * b),
    "geglu": _gated(lambda a, b: a * gelu(b)),
    "reglu": _gated(lambda a, b: a * relu(b)),
    "crelu": lambda call, x: torch.cat([relu(x), relu(-x)], call.attributes["axis"]),
}

"""Losses, penalties and optimisers in float64, as the formulas of frameworks/training.py say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from jostle.frameworks.graph import Training
from jostle.frameworks.reference.elementwise import not_below, softplus
from jostle.frameworks.reference.numbers import held
from jostle.frameworks.reference.reductions import log_softmax
from jostle.frameworks.reference.undefined import undefined_where

Settings = Mapping[str, float]
Memory = dict[str, Tensor]


def loss(training: Training, output: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """What is minimised."""
    return LOSSES[training.loss](output, held(training.target)) + penalty(training, parameters)


def huber(y: Tensor, t: Tensor) -> Tensor:
    d = y - t
    return torch.where(d.abs() <= 1, d * d / 2, d.abs() - 0.5).mean()


def cross_entropy(y: Tensor, t: Tensor) -> Tensor:
    classes = y.reshape(y.shape[0], -1)
    undefined_where((t < 0) | (t >= classes.shape[1]), "a class that does not exist")
    return -log_softmax(classes, 1).gather(1, t.unsqueeze(1)).mean()


def bce_with_logits(y: Tensor, t: Tensor) -> Tensor:
    # max(y, 0) + log(1 + exp(-|y|)) = log(1 + exp(y)), which has no kink at 0
    return (softplus(y) - y * t).mean()


LOSSES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mse": lambda y, t: torch.square(y - t).mean(),
    "l1": lambda y, t: (y - t).abs().mean(),
    "huber": huber,
    "cross_entropy": cross_entropy,
    "bce_with_logits": bce_with_logits,
    "hinge": lambda y, t: not_below(1 - y * t, 0.0).mean(),
}


def penalty(training: Training, parameters: Sequence[Tensor]) -> Tensor:
    amount = torch.zeros((), dtype=torch.float64)
    for w in parameters:
        if training.penalty in ("l1", "elastic"):
            amount = amount + w.abs().sum()
        if training.penalty in ("l2", "elastic"):
            amount = amount + torch.square(w).sum()
    return training.strength * amount


def sgd(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    v = memory["v"] = by["momentum"] * memory.get("v", 0 * g) + g
    return w - by["rate"] * (g + by["momentum"] * v if by["nesterov"] else v)


def _first_moment(g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    """By which a parameter moves, before it is divided."""
    m = memory["m"] = by["beta1"] * memory.get("m", 0 * g) + (1 - by["beta1"]) * g
    return by["rate"] * m / (1 - by["beta1"] ** t)


def _mean_square(g: Tensor, memory: Memory, rho: float) -> Tensor:
    v = memory["v"] = rho * memory.get("v", 0 * g) + (1 - rho) * g * g
    return v


def adam(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    deviation = torch.sqrt(_mean_square(g, memory, by["beta2"]) / (1 - by["beta2"] ** t)) + by["epsilon"]
    return w - _first_moment(g, memory, by, t) / deviation


def adamw(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    return adam(w - by["rate"] * by["decay"] * w, g, memory, by, t)


def rmsprop(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    return w - by["rate"] * g / (torch.sqrt(_mean_square(g, memory, by["rho"])) + by["epsilon"])


def rmsprop_in_root(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    return w - by["rate"] * g / torch.sqrt(_mean_square(g, memory, by["rho"]) + by["epsilon"])


def _sum_of_squares(g: Tensor, memory: Memory, start: float) -> Tensor:
    s = memory["s"] = memory.get("s", torch.full_like(g, start)) + g * g
    return s


def adagrad(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    return w - by["rate"] * g / (torch.sqrt(_sum_of_squares(g, memory, by["start"])) + by["epsilon"])


def adagrad_in_root(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    return w - by["rate"] * g / torch.sqrt(_sum_of_squares(g, memory, by["start"]) + by["epsilon"])


def adadelta(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    v = _mean_square(g, memory, by["rho"])
    s = memory.get("s", 0 * g)
    u = g * torch.sqrt(s + by["epsilon"]) / torch.sqrt(v + by["epsilon"])
    memory["s"] = by["rho"] * s + (1 - by["rho"]) * u * u
    return w - by["rate"] * u


def adamax(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    u = memory["u"] = torch.maximum(by["beta2"] * memory.get("u", 0 * g), g.abs() + by["epsilon"])
    return w - _first_moment(g, memory, by, t) / u


def adamax_on_maximum(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    u = memory["u"] = torch.maximum(by["beta2"] * memory.get("u", 0 * g), g.abs())
    return w - _first_moment(g, memory, by, t) / (u + by["epsilon"])


def adamax_on_memory(w: Tensor, g: Tensor, memory: Memory, by: Settings, t: int) -> Tensor:
    u = memory["u"] = torch.maximum(by["beta2"] * memory.get("u", 0 * g) + by["epsilon"], g.abs())
    return w - _first_moment(g, memory, by, t) / u


# A parameter after a step; what is remembered for it is changed in place.
STEPS: Mapping[str, Callable[[Tensor, Tensor, Memory, Settings, int], Tensor]] = {
    "sgd": sgd,
    "adam": adam,
    "adamw": adamw,
    "rmsprop": rmsprop,
    "rmsprop_in_root": rmsprop_in_root,
    "adagrad": adagrad,
    "adagrad_in_root": adagrad_in_root,
    "adadelta": adadelta,
    "adamax": adamax,
    "adamax_on_maximum": adamax_on_maximum,
    "adamax_on_memory": adamax_on_memory,
}

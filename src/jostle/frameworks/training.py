"""How models are trained: losses, penalties and optimisers, by name, with what each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jostle.frameworks.graph import Graph, Invalid, TensorType, Training

# Of the first output y and the target t; d = y - t.
LOSSES: Mapping[str, str] = {
    "mse": "mean d²",
    "l1": "mean |d|",
    "huber": "mean of d² / 2 where |d| ≤ 1, else |d| - 1/2",
    "cross_entropy": "mean of -log softmax(y)[t]; y [n, …] as [n, classes], t [n] int64",
    "bce_with_logits": "mean of max(y, 0) - y t + log(1 + exp(-|y|)); t in [0, 1]",
    "hinge": "mean of max(0, 1 - y t); t is -1 or 1",
}
PENALTIES: Mapping[str, str] = {
    "none": "0",
    "l1": "strength Σ |w| over all parameters",
    "l2": "strength Σ w²",
    "elastic": "both",
}


@dataclass(frozen=True)
class Optimiser:
    """How a parameter w follows its gradient g; what it remembers starts at 0 or `start`; t counts steps from 1.

    Libraries document several formulas of one name, which differ in where the epsilon is. Each is an optimiser here,
    and a backend has those that its library documents.
    """

    meaning: str
    settings: Mapping[str, tuple[float, ...]]  # and usual values


RATE, EPSILON = (0.1, 0.01, 0.001), (1e-8, 1e-5, 1e-3)
BETAS = {"beta1": (0.9, 0.5), "beta2": (0.999, 0.9)}
MEAN_SQUARE = {"rate": RATE, "rho": (0.99, 0.9), "epsilon": EPSILON}
SUM_OF_SQUARES = {"rate": RATE, "start": (0.0, 0.1), "epsilon": EPSILON}
INFINITY_NORM = {"rate": RATE, **BETAS, "epsilon": EPSILON}
OPTIMISERS: Mapping[str, Optimiser] = {
    "sgd": Optimiser(
        "v = momentum v + g; w -= rate (g + momentum v if nesterov else v)",
        {"rate": RATE, "momentum": (0.0, 0.9), "nesterov": (0.0, 1.0)},
    ),
    "adam": Optimiser(
        "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²; "
        "w -= rate (m / (1 - beta1ᵗ)) / (√(v / (1 - beta2ᵗ)) + epsilon)",
        {"rate": RATE, **BETAS, "epsilon": EPSILON},
    ),
    "adamw": Optimiser(
        "w -= rate decay w, then as adam", {"rate": RATE, **BETAS, "epsilon": EPSILON, "decay": (0.01, 0.1)}
    ),
    "rmsprop": Optimiser("v = rho v + (1 - rho) g²; w -= rate g / (√v + epsilon)", MEAN_SQUARE),
    "rmsprop_in_root": Optimiser("as rmsprop, but w -= rate g / √(v + epsilon)", MEAN_SQUARE),
    "adagrad": Optimiser("s += g², from start; w -= rate g / (√s + epsilon)", SUM_OF_SQUARES),
    "adagrad_in_root": Optimiser("as adagrad, but w -= rate g / √(s + epsilon)", SUM_OF_SQUARES),
    "adadelta": Optimiser(
        "v = rho v + (1 - rho) g²; u = g √(s + epsilon) / √(v + epsilon); s = rho s + (1 - rho) u²; w -= rate u",
        {"rate": (1.0, 0.1), "rho": (0.9, 0.95), "epsilon": (1e-6, 1e-3)},
    ),
    "adamax": Optimiser(
        "m = beta1 m + (1 - beta1) g; u = max(beta2 u, |g| + epsilon); w -= rate m / ((1 - beta1ᵗ) u)", INFINITY_NORM
    ),
    "adamax_on_maximum": Optimiser(
        "as adamax, but u = max(beta2 u, |g|); w -= rate m / ((1 - beta1ᵗ) (u + epsilon))", INFINITY_NORM
    ),
    "adamax_on_memory": Optimiser("as adamax, but u = max(beta2 u + epsilon, |g|)", INFINITY_NORM),
}
MOST_STEPS = 5


def check_training(graph: Graph, types: Mapping[str, TensorType]) -> None:
    """Invalid unless the graph can be trained as it says."""
    training = graph.training
    if training is None:
        return
    output = types[graph.outputs[0]]
    if not output.is_float or output.size == 0 or not graph.named("parameter"):
        raise Invalid("the first output is not of floats, or there is nothing to train")
    _check_target(training, output)
    optimiser = OPTIMISERS.get(training.optimiser)
    if training.penalty not in PENALTIES or optimiser is None:
        raise Invalid(f"there is no penalty {training.penalty!r} or no optimiser {training.optimiser!r}")
    if training.settings.keys() != optimiser.settings.keys() or not 1 <= training.steps <= MOST_STEPS:
        raise Invalid(f"{training.optimiser} takes {', '.join(optimiser.settings)}, and 1 to {MOST_STEPS} steps")


def _check_target(training: Training, output: TensorType) -> None:
    if training.loss not in LOSSES:
        raise Invalid(f"there is no loss {training.loss!r}")
    target = TensorType(tuple(training.target.shape), training.target.dtype.name)
    wanted = output
    if training.loss == "cross_entropy":
        if output.rank < 2:
            raise Invalid("cross entropy needs classes")
        wanted = TensorType(output.shape[:1], "int64")
    if target != wanted:
        raise Invalid(f"the target is {target}, not {wanted}")

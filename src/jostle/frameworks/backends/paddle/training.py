"""How Paddle trains: losses, penalties, and optimisers by the formulas that it documents."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Unsupported, literal
from jostle.frameworks.graph import Training

LOSSES: Mapping[str, str] = {
    "mse": "F.mse_loss({output}, target)",
    "l1": "F.l1_loss({output}, target)",
    "huber": "F.smooth_l1_loss({output}, target, delta=1.0)",
    "cross_entropy": "F.cross_entropy({output}.reshape([len(target), -1]), target)",
    "bce_with_logits": "F.binary_cross_entropy_with_logits({output}, target)",
    "hinge": "F.relu(1 - {output} * target).mean()",
}
PENALTIES: Mapping[str, str] = {
    "l1": "parameter.abs().sum()",
    "l2": "parameter.square().sum()",
    "elastic": "(parameter.abs().sum() + parameter.square().sum())",
}
ADAM = "{rate}, beta1={beta1}, beta2={beta2}, epsilon={epsilon}"
OPTIMISERS: Mapping[str, str] = {
    "sgd": "SGD({rate}",
    "momentum": "Momentum({rate}, momentum={momentum}, use_nesterov={nesterov}",
    "adam": f"Adam({ADAM}",
    "adamw": f"AdamW({ADAM}, weight_decay={{decay}}",
    "rmsprop_in_root": "RMSProp({rate}, rho={rho}, epsilon={epsilon}",
    "adagrad": "Adagrad({rate}, epsilon={epsilon}, initial_accumulator_value={start}",
    "adadelta": "Adadelta({rate}, epsilon={epsilon}, rho={rho}",
    "adamax_on_memory": f"Adamax({ADAM}",
}


def loss_of(training: Training, output: str) -> str:
    return LOSSES[training.loss].format(output=output)


def penalty_of(training: Training) -> str:
    """What is added for every parameter; "" if nothing."""
    return "" if training.penalty == "none" else f"{literal(training.strength)} * {PENALTIES[training.penalty]}"


def optimiser_of(training: Training) -> str:
    settings = {setting: literal(value) for setting, value in training.settings.items()}
    settings["nesterov"] = literal(bool(training.settings.get("nesterov", 0)))
    name = "momentum" if training.settings.get("momentum", 0) else training.optimiser
    if name not in OPTIMISERS:
        raise Unsupported(f"documents another formula of {training.optimiser}")
    return f"paddle.optimizer.{OPTIMISERS[name].format(**settings)}, parameters=parameters)"

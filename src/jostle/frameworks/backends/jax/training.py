"""How Optax trains what JAX computes, by the formulas that it documents."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Unsupported, literal
from jostle.frameworks.graph import Training

LOSSES: Mapping[str, str] = {
    "mse": "optax.losses.squared_error({y}, target).mean()",
    "l1": "jnp.abs({y} - target).mean()",
    "huber": "optax.losses.huber_loss({y}, target, delta=1.0).mean()",
    "cross_entropy": "optax.losses.softmax_cross_entropy_with_integer_labels("
    "{y}.reshape(target.shape[0], -1), target).mean()",
    "bce_with_logits": "optax.losses.sigmoid_binary_cross_entropy({y}, target).mean()",
    "hinge": "optax.losses.hinge_loss({y}, target).mean()",
}
PENALTIES: Mapping[str, str] = {
    "l1": "jnp.abs(parameter).sum()",
    "l2": "jnp.square(parameter).sum()",
    "elastic": "(jnp.abs(parameter).sum() + jnp.square(parameter).sum())",
}
OPTIMISERS: Mapping[str, str] = {
    "sgd": "optax.sgd({rate}, momentum={momentum}, nesterov={nesterov})",
    "adam": "optax.adam({rate}, b1={beta1}, b2={beta2}, eps={epsilon})",
    "adamw": "optax.adamw({rate}, b1={beta1}, b2={beta2}, eps={epsilon}, weight_decay={decay})",
    "rmsprop": "optax.rmsprop({rate}, decay={rho}, eps={epsilon}, eps_in_sqrt=False)",
    "rmsprop_in_root": "optax.rmsprop({rate}, decay={rho}, eps={epsilon}, eps_in_sqrt=True)",
    "adagrad_in_root": "optax.adagrad({rate}, initial_accumulator_value={start}, eps={epsilon})",
    "adadelta": "optax.adadelta({rate}, rho={rho}, eps={epsilon})",
    "adamax": "optax.adamax({rate}, b1={beta1}, b2={beta2}, eps={epsilon})",
}


def loss_of(training: Training, output: str) -> str:
    """The loss with its penalty, of `output` and a dict of `parameters`."""
    loss = LOSSES[training.loss].format(y=output)
    if training.penalty == "none":
        return loss
    penalty = f"sum({PENALTIES[training.penalty]} for parameter in parameters.values())"
    return f"{loss} + {literal(training.strength)} * {penalty}"


def optimiser_of(training: Training) -> str:
    if training.optimiser not in OPTIMISERS:
        raise Unsupported(f"Optax documents another {training.optimiser}")
    settings = {name: literal(value) for name, value in training.settings.items()}
    if "nesterov" in settings:
        settings["nesterov"] = str(bool(training.settings["nesterov"]))
    return OPTIMISERS[training.optimiser].format(**settings)

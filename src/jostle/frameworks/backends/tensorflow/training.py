"""How TensorFlow trains: losses, penalties, and optimisers by the formulas that Keras has."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Unsupported, literal
from jostle.frameworks.graph import TensorType, Training

LOSSES: Mapping[str, str] = {
    "mse": "tf.keras.losses.MeanSquaredError(dtype={dtype!r})(target, {output})",
    "l1": "tf.keras.losses.MeanAbsoluteError(dtype={dtype!r})(target, {output})",
    "huber": "tf.keras.losses.Huber(delta=1.0, dtype={dtype!r})(target, {output})",
    "hinge": "tf.keras.losses.Hinge(dtype={dtype!r})(target, {output})",
    "cross_entropy": "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits("
    "labels=target, logits=tf.reshape({output}, [target.shape[0], -1])))",
    "bce_with_logits": "tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits={output}))",
}
PENALTIES: Mapping[str, str] = {
    "l1": "tf.keras.regularizers.L1({0})",
    "l2": "tf.keras.regularizers.L2({0})",
    "elastic": "tf.keras.regularizers.L1L2(l1={0}, l2={0})",
}
BETAS = "beta_1={beta1}, beta_2={beta2}"
OPTIMISERS: Mapping[str, str] = {
    "sgd": "tf.keras.optimizers.SGD({rate}, momentum={momentum}, nesterov={nesterov})",
    "adam": "tf.keras.optimizers.Adam({rate}, " + BETAS + ")",
    "adamw": "tf.keras.optimizers.AdamW({rate}, " + BETAS + ", weight_decay={decay})",
    "rmsprop_in_root": "tf.keras.optimizers.RMSprop({rate}, rho={rho}, epsilon={epsilon})",
    "adagrad_in_root": "tf.keras.optimizers.Adagrad({rate}, initial_accumulator_value={start}, epsilon={epsilon})",
    "adamax_on_maximum": "tf.keras.optimizers.Adamax({rate}, " + BETAS + ", epsilon={epsilon})",
    "adadelta": "tf.keras.optimizers.Adadelta({rate}, rho={rho}, epsilon={epsilon})",
}


def loss_of(training: Training, output: str, type_: TensorType) -> str:
    if type_.rank == 0 and "keras" in LOSSES[training.loss]:
        raise Unsupported("documents losses as means over a last axis")
    dtype = type_.dtype
    return LOSSES[training.loss].format(output=output, dtype=dtype)


def penalty_of(training: Training) -> str:
    """What is called on every parameter; "" if nothing."""
    return "" if training.penalty == "none" else PENALTIES[training.penalty].format(literal(training.strength))


def optimiser_of(training: Training) -> str:
    if training.optimiser not in OPTIMISERS:
        raise Unsupported(f"documents another formula of {training.optimiser}")
    settings = {name: literal(value) for name, value in training.settings.items()}
    settings["nesterov"] = literal(bool(training.settings.get("nesterov", 0)))
    return OPTIMISERS[training.optimiser].format(**settings)


def before_step(training: Training) -> list[str]:
    """Keras documents the epsilon of Adam as the ε̂ of its paper, which ours is after a correction by the step."""
    if training.optimiser not in ("adam", "adamw"):
        return []
    epsilon, beta2 = (literal(training.settings[name]) for name in ("epsilon", "beta2"))
    return [f"optimizer.epsilon = {epsilon} * (1 - {beta2} ** step) ** 0.5"]

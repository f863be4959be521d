"""How TensorFlow drops out: by its function, which is for training only, and by the layer of Keras."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.operators.dropout import middle, share_of_zeros


def dropout_layer_of(call: Call) -> list[str]:
    """The line that makes the Keras layer which a node calls, if it calls one."""
    if call.node.operator not in DROPOUT or not call.attributes["layer"]:
        return []
    rate, seed = literal(_rate(call)), literal(call.attributes.get("seed", 0))
    dtype = call.types[0].dtype
    return [f"{call.node.name}_layer = tf.keras.layers.Dropout({rate}, seed={seed}, dtype={dtype!r})"]


def _rate(call: Call) -> float:
    return float(call.attributes.get("rate", 1.0))


def _dropped(call: Call, x: str, training: bool = True) -> str:
    if call.attributes["layer"]:
        return f"{call.node.name}_layer({x}, training={training})"
    if not training or _rate(call) == 1:
        raise Unsupported("documents its function for training alone, at rates below 1")
    return f"tf.nn.dropout({x}, {literal(_rate(call))})"


def _distance(call: Call) -> str:
    return f"tf.square({_dropped(call, call[0])} - {call[0]} * {literal(middle(call.attributes))})"


def _share(call: Call) -> str:
    share, of = share_of_zeros(call.types[0], call.attributes), call.attributes["of"]
    ones = f"tf.ones({literal(share.shape)}, tf.{call.types[0].dtype})"
    zeros = f"({_dropped(call, ones)} == 0)"
    neighbours = f"tf.reduce_all(tf.reshape({zeros}, [-1, 2]), axis=1)"
    counted = {"elements": zeros, "neighbours": neighbours, "calls": f"({zeros} & {zeros})"}[of]
    mean = f"tf.reduce_mean(tf.cast({counted}, tf.float64))"
    return f"tf.abs({mean} - {literal(share.expected)}) < {literal(share.bound)}"


DROPOUT: Mapping[str, Expression] = {
    "dropout_identity": lambda call: _dropped(call, call[0], call.attributes["training"]),
    "dropout_all": lambda call: _dropped(call, call[0]),
    "dropout_distance": _distance,
    "dropout_share": _share,
}

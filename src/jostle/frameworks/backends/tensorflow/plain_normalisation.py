"""How TensorFlow normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression


def _normalised(call: Call, axes: Sequence[int], x: str) -> str:
    return f"tf.keras.ops.layer_normalization({x}, axis={list(axes)}, epsilon={call.literal('epsilon')})"


def _group_norm(call: Call) -> str:
    split = f"tf.reshape({call[0]}, {[call.type.shape[0], call.attributes['groups'], -1]})"
    return f"tf.reshape({_normalised(call, [2], split)}, {list(call.type.shape)})"


def _standardize(call: Call) -> str:
    moments = f"*tf.nn.moments({call[0]}, {call.literal('axes')}, keepdims=True)"
    return f"tf.nn.batch_normalization({call[0]}, {moments}, None, None, {call.literal('epsilon')})"


PLAIN_NORMALISATION: Mapping[str, Expression] = {
    "plain_layer_norm": lambda call: _normalised(call, range(call.attributes["axis"], call.type.rank), call[0]),
    "plain_group_norm": _group_norm,
    "plain_instance_norm": lambda call: _normalised(call, range(2, call.type.rank), call[0]),
    "standardize": _standardize,
}

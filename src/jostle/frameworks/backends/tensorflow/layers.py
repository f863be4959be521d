"""How TensorFlow computes products, normalisations, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import named, template


def _linear(call: Call) -> str:
    if call.types[0].rank == 1:
        return f"tf.linalg.matvec({call[1]}, {call[0]}) + {call[2]}"
    return f"tf.matmul({call[0]}, {call[1]}, transpose_b=True) + {call[2]}"


def _per_channel(call: Call, place: int) -> str:
    """An input of one number per channel, so that it is broadcast along the second axis."""
    return call[place] if call.type.rank == 2 else f"tf.reshape({call[place]}, {[-1, *[1] * (call.type.rank - 2)]})"


def _fused(call: Call) -> bool:
    return call.type.rank == 4 and call.type.dtype == "float32"


def _batch_norm(call: Call) -> str:
    epsilon = call.literal("epsilon")
    if _fused(call):
        given = f"x={call[0]}, scale={call[1]}, offset={call[2]}, mean={call[3]}, variance={call[4]}"
        return _fused_batch_norm(call, given, training=False)
    given = f"mean={call[3]}, variance={call[4]}, offset={call[2]}, scale={call[1]}"
    return f"tf.keras.ops.batch_normalization({call[0]}, axis=1, {given}, epsilon={epsilon})"


def _fused_batch_norm(call: Call, given: str, *, training: bool) -> str:
    image = given.replace(f"x={call[0]}", f"x=tf.transpose({call[0]}, [0, 2, 3, 1])", 1)
    settings = f"epsilon={call.literal('epsilon')}, is_training={training}"
    return f"tf.transpose(tf.raw_ops.FusedBatchNormV3({image}, {settings}).y, [0, 3, 1, 2])"


def _batch_norm_training(call: Call) -> str:
    if _fused(call):
        given = f"x={call[0]}, scale={call[1]}, offset={call[2]}, mean=[], variance=[]"
        return _fused_batch_norm(call, given, training=True)
    return _normalised(call, [0, *range(2, call.type.rank)])


def _instance_norm(call: Call) -> str:
    return _normalised(call, list(range(2, call.type.rank)))


def _normalised(call: Call, axes: list[int]) -> str:
    moments = f"*tf.nn.moments({call[0]}, {axes}, keepdims=True)"
    affine = f"offset={_per_channel(call, 2)}, scale={_per_channel(call, 1)}"
    return f"tf.nn.batch_normalization({call[0]}, {moments}, {affine}, variance_epsilon={call.literal('epsilon')})"


def _group_norm(call: Call) -> str:
    batch, channels, *sizes = call.type.shape
    groups = call.attributes["groups"]
    split = f"tf.reshape({call[0]}, {[batch, groups, channels // groups, *sizes]})"
    axes = tuple(range(2, call.type.rank + 1))
    normal = f"tf.keras.ops.layer_normalization({split}, axis={axes}, epsilon={call.literal('epsilon')})"
    return f"tf.reshape({normal}, {list(call.type.shape)}) * {_per_channel(call, 1)} + {_per_channel(call, 2)}"


def _layer_norm(call: Call) -> str:
    axes = list(range(call.attributes["axis"], call.type.rank))
    given = f"gamma={call[1]}, beta={call[2]}"
    return f"tf.keras.ops.layer_normalization({call[0]}, {given}, axis={axes}, epsilon={call.literal('epsilon')})"


def _l2_normalize(call: Call) -> str:
    """TensorFlow's epsilon bounds the square."""
    return f"tf.math.l2_normalize({call[0]}, axis={call.literal('axis')}, epsilon={call.attributes['epsilon'] ** 2!r})"


def _prelu(call: Call) -> str:
    return f"tf.where({call[0]} > 0, {call[0]}, {_per_channel(call, 1)} * {call[0]})"


def _attention(call: Call) -> str:
    heads = ", ".join(f"{call[place]}[:, :, None]" for place in range(3))
    return f"tf.keras.ops.dot_product_attention({heads}, is_causal={call.literal('causal')})[:, :, 0]"


LAYER_CLASSES = {
    "rnn": "tf.keras.layers.SimpleRNN({units}, return_sequences=True, dtype={dtype!r})",
    "lstm": "tf.keras.layers.LSTM({units}, return_sequences=True, dtype={dtype!r})",
    "gru": "tf.keras.layers.GRU({units}, return_sequences=True, reset_after=True, dtype={dtype!r})",
}


def layer_of(call: Call) -> list[str]:
    """Lines that make the Keras layer which a node calls, if it calls one."""
    if call.node.operator not in LAYER_CLASSES:
        return []
    time, batch, width = call.types[0].shape
    made = LAYER_CLASSES[call.node.operator].format(units=call.type.shape[2], dtype=call.type.dtype)
    return [f"{call.node.name}_layer = {made}", f"{call.node.name}_layer.build({(batch, time, width)})"]


def _recurrent(weights: Callable[[Call], str]) -> Expression:
    """Keras' layers take the batch first, and their weights transposed."""

    def expression(call: Call) -> str:
        layer, given = f"{call.node.name}_layer", f"tf.transpose({call[0]}, [1, 0, 2])"
        states = f"{layer}.stateless_call([{weights(call)}], {layer}.non_trainable_variables, {given})[0]"
        return f"tf.transpose({states}, [1, 0, 2])"

    return expression


def _kernels(call: Call) -> str:
    return f"tf.transpose({call[1]}), tf.transpose({call[2]}), {call[3]} + {call[4]}"


def _update_gate_first(call: Call) -> str:
    """Keras' GRU has its gates in the order z, r, n."""
    hidden = call.type.shape[2]

    def reordered(name: str) -> str:
        return f"tf.concat([{name}[{hidden}:{2 * hidden}], {name}[:{hidden}], {name}[{2 * hidden}:]], axis=0)"

    kernels = ", ".join(f"tf.transpose({reordered(call[place])})" for place in (1, 2))
    return f"{kernels}, tf.stack([{reordered(call[3])}, {reordered(call[4])}])"


LAYERS: Mapping[str, Expression] = {
    **named("tf.", "matmul"),
    "linear": _linear,
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": template("tf.keras.ops.rms_normalization({0}, scale={1}, axis=-1, epsilon={epsilon})"),
    "l2_normalize": _l2_normalize,
    "prelu": _prelu,
    "glu": template("tf.keras.activations.glu({0}, axis={axis})"),
    "dropout": template("tf.where({1}, {0} / (1 - {rate}), 0)"),
    "attention": _attention,
    "rnn": _recurrent(_kernels),
    "lstm": _recurrent(_kernels),
    "gru": _recurrent(_update_gate_first),
}

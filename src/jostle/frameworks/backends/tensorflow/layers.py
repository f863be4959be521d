"""How TensorFlow computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import template


def _linear(call: Call) -> str:
    if call.types[0].rank == 1:
        return f"tf.linalg.matvec({call[1]}, {call[0]}) + {call[2]}"
    return f"tf.matmul({call[0]}, {call[1]}, transpose_b=True) + {call[2]}"


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
    "matmul": template("tf.matmul({0}, {1})"),
    "linear": _linear,
    "attention": _attention,
    "rnn": _recurrent(_kernels),
    "lstm": _recurrent(_kernels),
    "gru": _recurrent(_update_gate_first),
}

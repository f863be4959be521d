"""How JAX moves elements."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.jax.elementwise import filled_in
from jostle.frameworks.backends.program import Call, Expression, literal

PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
COMBINE = {"add": "add", "mul": "multiply", "max": "max", "min": "min"}
PATTERNS = {
    "reshape": "jnp.reshape({a}, {shape})",
    "transpose": "jnp.transpose({a}, {permutation})",
    "expand": "jnp.broadcast_to({a}, {shape})",
    "tile": "jnp.tile({a}, {repeats})",
    "roll": "jnp.roll({a}, {shift}, axis={axis})",
    "gather": "jnp.take_along_axis({a}, {b}, axis={axis})",
    "take": "jnp.take({a}, {b}, axis={axis})",
    "one_hot": 'jax.nn.one_hot({a}, {depth}, dtype="float32")',
    "tril": "jnp.tril({a}, {diagonal})",
    "triu": "jnp.triu({a}, {diagonal})",
    "sort": "jnp.sort({a}, axis={axis}, descending={descending})",
}


def _of_axes(function: str) -> Expression:
    return lambda call: f"{function}({call[0]}, axis={literal(tuple(call.attributes['axes']))})"


def _joined(function: str) -> Expression:
    return lambda call: f"{function}([{', '.join(call.node.inputs)}], axis={call.literal('axis')})"


def span(start: int, size: int, step: int) -> str:
    """A slice of so many elements, as it is written between brackets."""
    if size == 0:
        return f"{start}:{start}"
    stop = start + size * step
    return f"{start}:{'' if stop < 0 else stop}" + (f":{step}" if step != 1 else "")


def _slice(call: Call) -> str:
    places = zip(*(call.attributes[name] for name in ("starts", "sizes", "steps")), strict=True)
    return f"{call[0]}[{', '.join(span(*place) for place in places)}]"


def _pad(call: Call) -> str:
    widths = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    if call.attributes["mode"] != "constant":
        return f"jnp.pad({call[0]}, {widths}, mode={PAD_MODES[call.attributes['mode']]!r})"
    value = literal(call.attributes["value"] if call.type.is_float else int(call.attributes["value"]))
    if min(map(min, widths)) >= 0:
        return f"jnp.pad({call[0]}, {widths}, constant_values={value})"
    config = [(low, high, 0) for low, high in widths]
    return f"lax.pad({call[0]}, jnp.array({value}, {call.type.dtype!r}), {config})"


def _scatter(call: Call) -> str:
    axis, shape = call.attributes["axis"], call.types[1].shape
    places = [call[1] if at == axis else _counting(size, len(shape) - 1 - at) for at, size in enumerate(shape)]
    return f"{call[0]}.at[{', '.join(places)}].{COMBINE[call.attributes['reduction']]}({call[2]})"


def _counting(size: int, axes_after: int) -> str:
    return f"jnp.arange({size})" + (f"[:{', None' * axes_after}]" if axes_after else "")


def _depth_to_space(call: Call) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    left = channels // block**2
    if call.attributes["mode"] == "crd":
        split, order = (batch, left, block, block, height, width), (0, 1, 4, 2, 5, 3)
    else:
        split, order = (batch, block, block, left, height, width), (0, 3, 4, 1, 5, 2)
    return f"jnp.reshape(jnp.transpose(jnp.reshape({call[0]}, {split}), {order}), {call.type.shape})"


def _space_to_depth(call: Call) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    split = (batch, channels, height // block, block, width // block, block)
    return f"jnp.reshape(jnp.transpose(jnp.reshape({call[0]}, {split}), (0, 3, 5, 1, 2, 4)), {call.type.shape})"


def _topk_values(call: Call) -> str:
    axis, count = call.attributes["axis"], call.attributes["k"]
    if call.attributes["largest"]:
        return f"lax.top_k({call[0]}, {count}, axis={axis})[0]"
    return f"jnp.sort({call[0]}, axis={axis})[{':, ' * axis}:{count}]"


def _topk_indices(call: Call) -> str:
    axis, count = call.attributes["axis"], call.attributes["k"]
    if call.attributes["largest"]:
        return f'lax.top_k({call[0]}, {count}, axis={axis})[1].astype("int64")'
    return f"jnp.argsort({call[0]}, axis={axis})[{':, ' * axis}:{count}]"


SHAPES: Mapping[str, Expression] = {
    **{name: filled_in(pattern) for name, pattern in PATTERNS.items()},
    "squeeze": _of_axes("jnp.squeeze"),
    "unsqueeze": _of_axes("jnp.expand_dims"),
    "flip": _of_axes("jnp.flip"),
    "concat": _joined("jnp.concatenate"),
    "stack": _joined("jnp.stack"),
    "slice": _slice,
    "pad": _pad,
    "scatter": _scatter,
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "topk_values": _topk_values,
    "topk_indices": _topk_indices,
}

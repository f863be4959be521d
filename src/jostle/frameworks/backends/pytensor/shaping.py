"""How PyTensor moves elements, and the layers that it has the parts of."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.jax.layers import per_channel
from jostle.frameworks.backends.jax.shaping import span
from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.backends.pytensor.elementwise import filled_in, number

PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
PATTERNS = {
    "reshape": "pt.reshape({a}, {shape})",
    "transpose": "pt.transpose({a}, {permutation})",
    "expand": "pt.broadcast_to({a}, {shape})",
    "concat": "pt.concatenate([{all}], axis={axis})",
    "stack": "pt.stack([{all}], axis={axis})",
    "flip": "pt.flip({a}, {axes})",
    "roll": "pt.roll({a}, {shift}, axis={axis})",
    "tile": "pt.tile({a}, {repeats})",
    "gather": "pt.take_along_axis({a}, {b}, axis={axis})",
    "take": "pt.take({a}, {b}, axis={axis})",
    "one_hot": 'pt.eq(pt.expand_dims({a}, -1), pt.arange({depth})).astype("float32")',
    "tril": "pt.tril({a}, {diagonal})",
    "triu": "pt.triu({a}, {diagonal})",
    "matmul": "pt.matmul({a}, {b})",
    "linear": "pt.matmul({a}, {b}.T) + {c}",
    "rms_norm": "{a} / pt.sqrt(pt.mean(pt.sqr({a}), axis=-1, keepdims=True) + {epsilon}) * {b}",
    "l2_normalize": "{a} / pt.maximum(pt.sqrt(pt.sum(pt.sqr({a}), axis={axis}, keepdims=True)), {epsilon})",
    "dropout": "{a} * {b} / ({one} - {rate})",
}


def _of_axes(function: str) -> Expression:
    return lambda call: f"{function}({call[0]}, {literal(tuple(call.attributes['axes']))})"


def _slice(call: Call) -> str:
    places = zip(*(call.attributes[name] for name in ("starts", "sizes", "steps")), strict=True)
    return f"{call[0]}[{', '.join(span(*place) for place in places)}]"


def _pad(call: Call) -> str:
    mode, widths = call.attributes["mode"], list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    if min(map(min, widths)) < 0:
        raise Unsupported("has no negative padding")
    value = call.attributes["value"] if call.type.is_float else int(call.attributes["value"])
    constant = f", constant_values={number(value, call.type.dtype)}" if mode == "constant" else ""
    return f"pt.pad({call[0]}, {widths}, mode={PAD_MODES[mode]!r}{constant})"


def _scatter(call: Call) -> str:
    if call.attributes["reduction"] != "add":
        raise Unsupported("scatters by adding only")
    axis, shape = call.attributes["axis"], call.types[1].shape
    places = [call[1] if at == axis else _counting(size, len(shape) - 1 - at) for at, size in enumerate(shape)]
    return f"{call[0]}[{', '.join(places)}].inc({call[2]})"


def _counting(size: int, axes_after: int) -> str:
    return f"np.arange({size})" + (f"[:{', None' * axes_after}]" if axes_after else "")


def _depth_to_space(call: Call) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    left = channels // block**2
    if call.attributes["mode"] == "crd":
        split, order = (batch, left, block, block, height, width), (0, 1, 4, 2, 5, 3)
    else:
        split, order = (batch, block, block, left, height, width), (0, 3, 4, 1, 5, 2)
    return f"pt.reshape(pt.transpose(pt.reshape({call[0]}, {split}), {order}), {call.type.shape})"


def _space_to_depth(call: Call) -> str:
    (batch, channels, height, width), block = call.types[0].shape, call.attributes["block"]
    split = (batch, channels, height // block, block, width // block, block)
    return f"pt.reshape(pt.transpose(pt.reshape({call[0]}, {split}), (0, 3, 5, 1, 2, 4)), {call.type.shape})"


def _sort(call: Call) -> str:
    axis = call.attributes["axis"]
    ordered = f"pt.sort({call[0]}, axis={axis})"
    return f"pt.flip({ordered}, {axis})" if call.attributes["descending"] else ordered


def _top(function: str) -> Expression:
    def expression(call: Call) -> str:
        axis, count = call.attributes["axis"], call.attributes["k"]
        ordered = f"{function}({call[0]}, axis={axis})"
        wanted = f"pt.flip({ordered}, {axis})" if call.attributes["largest"] else ordered
        return f"{wanted}[{':, ' * axis}:{count}]"

    return expression


def _normalised(array: str, axes: tuple[int, ...], call: Call) -> str:
    mean = f"pt.mean({array}, axis={axes}, keepdims=True)"
    deviation = f"pt.sqrt(pt.var({array}, axis={axes}, keepdims=True) + {_epsilon(call)})"
    return f"({array} - {mean}) / {deviation}"


def _epsilon(call: Call) -> str:
    return number(call.attributes["epsilon"], call.type.dtype)


def _affine(call: Call, normal: str) -> str:
    rank = call.type.rank
    return f"{normal} * {per_channel(call[1], rank)} + {per_channel(call[2], rank)}"


def _all_axes_but(call: Call, *kept: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(call.type.rank) if axis not in kept)


def _batch_norm(call: Call) -> str:
    mean, variance = (per_channel(call[place], call.type.rank) for place in (3, 4))
    return _affine(call, f"({call[0]} - {mean}) / pt.sqrt({variance} + {_epsilon(call)})")


def _batch_norm_training(call: Call) -> str:
    return _affine(call, _normalised(call[0], _all_axes_but(call, 1), call))


def _instance_norm(call: Call) -> str:
    return _affine(call, _normalised(call[0], _all_axes_but(call, 0, 1), call))


def _group_norm(call: Call) -> str:
    (batch, channels, *sizes), groups = call.type.shape, call.attributes["groups"]
    split = (batch, groups, channels // groups, *sizes)
    normal = _normalised(f"pt.reshape({call[0]}, {split})", tuple(range(2, len(split))), call)
    return _affine(call, f"pt.reshape({normal}, {call.type.shape})")


def _layer_norm(call: Call) -> str:
    axes = tuple(range(call.attributes["axis"], call.type.rank))
    return f"{_normalised(call[0], axes, call)} * {call[1]} + {call[2]}"


def _prelu(call: Call) -> str:
    return f"pt.switch({call[0]} > 0, {call[0]}, {per_channel(call[1], call.type.rank)} * {call[0]})"


def _glu(call: Call) -> str:
    axis = call.attributes["axis"]
    half = call.types[0].shape[axis] // 2
    return f"{call[0]}[{':, ' * axis}:{half}] * pt.sigmoid({call[0]}[{':, ' * axis}{half}:])"


def _attention(call: Call) -> str:
    (_, length, width), keys = call.types[0].shape, call.types[1].shape[1]
    root = number(width, call.type.dtype)
    scores = f"pt.matmul({call[0]}, pt.matrix_transpose({call[1]})) / pt.sqrt({root})"
    if call.attributes["causal"]:
        scores = f"pt.switch(np.tri({length}, {keys}, dtype=bool), {scores}, {number(float('-inf'), call.type.dtype)})"
    return f"pt.matmul(pt.special.softmax({scores}, axis=-1), {call[2]})"


SHAPES_AND_LAYERS: Mapping[str, Expression] = {
    **{name: filled_in(pattern) for name, pattern in PATTERNS.items()},
    "squeeze": _of_axes("pt.squeeze"),
    "unsqueeze": _of_axes("pt.expand_dims"),
    "slice": _slice,
    "pad": _pad,
    "scatter": _scatter,
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "sort": _sort,
    "topk_values": _top("pt.sort"),
    "topk_indices": _top("pt.argsort"),
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "prelu": _prelu,
    "glu": _glu,
    "attention": _attention,
}

"""How JAX computes layers: its own functions where it has them, else what its own libraries of layers are made of."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.jax.elementwise import filled_in
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.graph import TensorType

RESIZE_METHODS = {"nearest_exact": "nearest", "linear": "linear", "cubic": "cubic-pytorch"}
ALIGNED_METHODS = {"linear_align_corners": "linear", "cubic_align_corners": "cubic-pytorch"}
# map_coordinates reads its modes as scipy documents them.
COORDINATE_MODES = {
    ("zeros", False): "constant",
    ("zeros", True): "constant",
    ("border", False): "nearest",
    ("border", True): "nearest",
    ("reflection", False): "reflect",
    ("reflection", True): "mirror",
}

Padding = list[tuple[int, int]]


def per_channel(name: str, rank: int) -> str:
    """An array of one number a channel, as it is broadcast to [batch, channels, …]."""
    return name if rank == 2 else f"{name}[:{', None' * (rank - 2)}]"


# Products and convolutions


def _conv(call: Call) -> str:
    given = call.attributes
    padding = list(zip(given["before"], given["after"], strict=True))
    return (
        f"lax.conv_general_dilated({call[0]}, {call[1]}, {given['strides']}, {padding}, "
        f"rhs_dilation={given['dilations']}, feature_group_count={given['groups']})"
        f" + {per_channel(call[2], call.type.rank)}"
    )


def _conv_transpose(call: Call) -> str:
    given, bias = call.attributes, per_channel(call[2], call.type.rank)
    kernel = call.types[1].shape[2:]
    padding = [
        (dilation * (size - 1) - pad, dilation * (size - 1) - pad + more)
        for size, dilation, pad, more in zip(
            kernel, given["dilations"], given["padding"], given["output_padding"], strict=True
        )
    ]
    if given["groups"] > 1:
        return f"{_grouped_transpose(call, padding)} + {bias}"
    layout = "NC" + "DHW"[-len(kernel) :]
    dimensions = (layout, layout.replace("NC", "OI"), layout)
    return (
        f"lax.conv_transpose({call[0]}, {call[1]}, {given['strides']}, {padding}, rhs_dilation={given['dilations']}, "
        f"dimension_numbers={dimensions}, transpose_kernel=True) + {bias}"
    )


def _grouped_transpose(call: Call, padding: Padding) -> str:
    """lax.conv_transpose knows no groups; the convolution that it stands for does."""
    (channels, each, *kernel), groups = call.types[1].shape, call.attributes["groups"]
    split = (groups, channels // groups, each, *kernel)
    joined = (groups * each, channels // groups, *kernel)
    axes = tuple(range(2, 2 + len(kernel)))
    weights = f"jnp.flip(jnp.swapaxes({call[1]}.reshape({split}), 1, 2).reshape({joined}), {axes})"
    return (
        f"lax.conv_general_dilated({call[0]}, {weights}, {[1] * len(kernel)}, {padding}, "
        f"lhs_dilation={call.attributes['strides']}, rhs_dilation={call.attributes['dilations']}, "
        f"feature_group_count={groups})"
    )


# Pooling


def _window_padding(call: Call) -> Padding:
    """Before and after each axis; after it as much more as windows reach beyond the end."""
    given = call.attributes
    axes = len(given["kernel"])
    pads, dilations = given.get("padding", [0] * axes), given.get("dilations", [1] * axes)
    padding = []
    for place, (kernel, stride) in enumerate(zip(given["kernel"], given["strides"], strict=True)):
        reach = (kernel - 1) * dilations[place] + 1
        last = (call.type.shape[2 + place] - 1) * stride + reach
        padding.append((pads[place], max(pads[place], last - call.types[0].shape[2 + place] - pads[place])))
    return padding


def _windowed(call: Call, array: str, start: str, reduction: str, padding: Padding) -> str:
    given = call.attributes
    window, strides = (1, 1, *given["kernel"]), (1, 1, *given["strides"])
    full = [(0, 0), (0, 0), *padding]
    dilation = f", window_dilation={(1, 1, *given['dilations'])}" if "dilations" in given else ""
    return f"lax.reduce_window({array}, {start}, {reduction}, {window}, {strides}, {full}{dilation})"


def _max_pool(call: Call) -> str:
    return _windowed(call, call[0], "-jnp.inf", "lax.max", _window_padding(call))


def _avg_pool(call: Call) -> str:
    given, padding = call.attributes, _window_padding(call)
    summed = _windowed(call, call[0], "0.0", "lax.add", padding)
    if given["include_pad"]:
        return f"{summed} / {_padded_count(call, padding)}"
    return f"{summed} / {_windowed(call, f'jnp.ones_like({call[0]})', '0.0', 'lax.add', padding)}"


def _padded_count(call: Call, padding: Padding) -> str:
    """How many elements a window has with the padding, but without what it reaches beyond that."""
    pads = call.attributes["padding"]
    beyond = [(0, high - pad) for (_, high), pad in zip(padding, pads, strict=True)]
    if not any(high for _, high in beyond):
        return str(TensorType(tuple(call.attributes["kernel"]), "bool").size)
    sizes = [size + 2 * pad for size, pad in zip(call.types[0].shape[2:], pads, strict=True)]
    return _windowed(call, f"jnp.ones({(1, 1, *sizes)}, {call.type.dtype!r})", "0.0", "lax.add", beyond)


def _lp_pool(call: Call) -> str:
    power = call.attributes["p"]
    summed = _windowed(call, f"jnp.abs({call[0]}) ** {power}", "0.0", "lax.add", _window_padding(call))
    return f"{summed} ** (1 / {power})"


def _adaptive_window(call: Call) -> tuple[tuple[int, ...], Padding]:
    sizes, wanted = call.types[0].shape[2:], call.attributes["size"]
    if any(size % count for size, count in zip(sizes, wanted, strict=True)):
        raise Unsupported("has no adaptive pooling to sizes that do not divide the image's")
    window = tuple(size // count for size, count in zip(sizes, wanted, strict=True))
    return (1, 1, *window), [(0, 0)] * call.type.rank


def _adaptive_avg_pool(call: Call) -> str:
    window, padding = _adaptive_window(call)
    count = TensorType(window, "bool").size
    return f"lax.reduce_window({call[0]}, 0.0, lax.add, {window}, {window}, {padding}) / {count}"


def _adaptive_max_pool(call: Call) -> str:
    window, padding = _adaptive_window(call)
    return f"lax.reduce_window({call[0]}, -jnp.inf, lax.max, {window}, {window}, {padding})"


# Normalisation


def _affine(call: Call, normal: str) -> str:
    rank = call.type.rank
    return f"{normal} * {per_channel(call[1], rank)} + {per_channel(call[2], rank)}"


def _standardized(array: str, axes: tuple[int, ...], call: Call) -> str:
    return f'jax.nn.standardize({array}, {axes}, epsilon={call.literal("epsilon")}, algorithm="stable")'


def _batch_norm(call: Call) -> str:
    mean, variance = (per_channel(call[place], call.type.rank) for place in (3, 4))
    axes = _all_axes_but(call, 1)
    epsilon = call.literal("epsilon")
    return _affine(call, f"jax.nn.standardize({call[0]}, {axes}, mean={mean}, variance={variance}, epsilon={epsilon})")


def _all_axes_but(call: Call, *kept: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(call.type.rank) if axis not in kept)


def _batch_norm_training(call: Call) -> str:
    return _affine(call, _standardized(call[0], _all_axes_but(call, 1), call))


def _instance_norm(call: Call) -> str:
    return _affine(call, _standardized(call[0], _all_axes_but(call, 0, 1), call))


def _group_norm(call: Call) -> str:
    (batch, channels, *sizes), groups = call.type.shape, call.attributes["groups"]
    split = (batch, groups, channels // groups, *sizes)
    normal = _standardized(f"{call[0]}.reshape({split})", tuple(range(2, len(split))), call)
    return _affine(call, f"{normal}.reshape({call.type.shape})")


def _layer_norm(call: Call) -> str:
    axes = tuple(range(call.attributes["axis"], call.type.rank))
    return f"{_standardized(call[0], axes, call)} * {call[1]} + {call[2]}"


def _local_response_norm(call: Call) -> str:
    size, rest = call.attributes["size"], call.type.rank - 2
    window, strides = (1, size, *[1] * rest), (1,) * call.type.rank
    padding = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * rest]
    summed = f"lax.reduce_window(jnp.square({call[0]}), 0.0, lax.add, {window}, {strides}, {padding})"
    k, alpha, beta = (call.literal(name) for name in ("k", "alpha", "beta"))
    return f"{call[0]} / ({k} + {alpha} / {size} * {summed}) ** {beta}"


def _prelu(call: Call) -> str:
    return f"jax.nn.leaky_relu({call[0]}, {per_channel(call[1], call.type.rank)})"


# Sampling and sequences


def _resize(call: Call) -> str:
    mode, shape = call.attributes["mode"], call.type.shape
    if mode in RESIZE_METHODS:
        return f"jax.image.resize({call[0]}, {shape}, {RESIZE_METHODS[mode]!r}, antialias=False)"
    if mode not in ALIGNED_METHODS:
        raise Unsupported(f"has no resize in mode {mode}")
    scales = [_aligned_scale(old, new) for old, new in zip(call.types[0].shape[2:], shape[2:], strict=True)]
    scale, shift = (f"jnp.array([{', '.join(part)}])" for part in zip(*scales, strict=True))
    axes = tuple(range(2, call.type.rank))
    return (
        f"jax.image.scale_and_translate({call[0]}, {shape}, {axes}, {scale}, {shift}, "
        f"{ALIGNED_METHODS[mode]!r}, antialias=False)"
    )


def _aligned_scale(old: int, new: int) -> tuple[str, str]:
    """Scale and translation by which corners stay corners, as scale_and_translate documents them."""
    if old == 1 or new == 1:  # a lone pixel is the first one, or all there is
        return f"{float(new if old == 1 else 1)}", "0.0"
    return f"{new - 1} / {old - 1}", f"0.5 * (1 - {new - 1} / {old - 1})"


def _grid_sample(call: Call) -> str:
    mode, padding, aligned = (call.attributes[name] for name in ("mode", "padding", "align_corners"))
    if mode != "bilinear":
        raise Unsupported(f"has no {mode} sampling that rounds as torch does")
    height, width = call.types[0].shape[2:]
    across, down = (_places(f"{call[1]}[..., {at}]", size, aligned) for at, size in ((0, width), (1, height)))
    return f"sample({call[0]}, {down}, {across}, {COORDINATE_MODES[padding, aligned]!r})"


def _places(coordinates: str, size: int, aligned: bool) -> str:
    return f"({coordinates} + 1) / 2 * {size - 1}" if aligned else f"(({coordinates} + 1) * {size} - 1) / 2"


def _attention(call: Call) -> str:
    causal = call.attributes["causal"]
    if call.types[1].shape == call.types[2].shape:
        query, key, value = (f"{name}[:, :, None]" for name in call.node.inputs)
        return f"jax.nn.dot_product_attention({query}, {key}, {value}, is_causal={causal})[:, :, 0]"
    (_, length, width), keys = call.types[0].shape, call.types[1].shape[1]
    scores = f"jnp.matmul({call[0]}, {call[1]}.mT) / {width}**0.5"
    where = f", where=jnp.tri({length}, {keys}, dtype=bool)" if causal else ""
    return f"jnp.matmul(jax.nn.softmax({scores}{where}), {call[2]})"


PATTERNS = {
    "matmul": "jnp.matmul({a}, {b})",
    "linear": "jnp.matmul({a}, {b}.T) + {c}",
    "rms_norm": "{a} * lax.rsqrt(jnp.mean(jnp.square({a}), axis=-1, keepdims=True) + {epsilon}) * {b}",
    "l2_normalize": "{a} / jnp.maximum(jnp.linalg.norm({a}, axis={axis}, keepdims=True), {epsilon})",
    "glu": "jax.nn.glu({a}, axis={axis})",
    "dropout": "{a} * {b} / (1 - {rate})",
    "rnn": "rnn({a}, {b}, {c}, {d}, {e})",
    "lstm": "lstm({a}, {b}, {c}, {d}, {e})",
    "gru": "gru({a}, {b}, {c}, {d}, {e})",
}
WITH_WEIGHTS: Mapping[str, Expression] = {
    **{name: filled_in(pattern) for name, pattern in PATTERNS.items()},
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive_avg_pool,
    "adaptive_max_pool": _adaptive_max_pool,
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "local_response_norm": _local_response_norm,
    "prelu": _prelu,
    "resize": _resize,
    "grid_sample": _grid_sample,
    "attention": _attention,
}

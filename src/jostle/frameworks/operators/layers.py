"""Operators with weights, and those that look at neighbourhoods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.operator import (
    AXIS,
    FLAG,
    Choice,
    Drawn,
    Extras,
    Infer,
    Operator,
    Real,
    Types,
    Wanted,
    Whole,
    broadcast,
    count_of,
    per_spatial,
    require,
    require_axis,
    same_dtype,
)

Random = np.random.Generator
EPSILON = Real((1e-5, 1e-3, 1e-12))


def _floats(types: Types, count: int) -> str:
    count_of(types, count)
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    return same_dtype(types)


def _image(first: TensorType) -> bool:
    """Batch, channels and one to three axes more, none of them empty."""
    return first.is_float and 3 <= first.rank <= 5 and first.size > 0


def _weights(shape: tuple[int, ...], first: TensorType) -> Wanted:
    return Wanted(shape, first.dtype, "weights")


# Products


def _matmul(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 2)
    a, b = types
    require(a.rank >= 2 and b.rank >= 2 and a.shape[-1] == b.shape[-2], f"{a} and {b} cannot be multiplied")
    return TensorType((*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype)


def _matmul_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    batch = first.shape[:-2] if rng.random() < 0.5 else ()
    return (_weights((*batch, first.shape[-1], int(rng.integers(1, 7))), first),)


def _linear(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 3)
    x, weight, bias = types
    require(x.rank >= 1 and weight.rank == 2 and weight.shape[1] == x.shape[-1], f"{weight} does not fit {x}")
    require(bias.shape == weight.shape[:1], f"{bias} does not fit {weight}")
    return TensorType((*x.shape[:-1], weight.shape[0]), dtype)


def _linear_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    units = int(rng.integers(1, 9))
    return _weights((units, first.shape[-1]), first), _weights((units,), first)


# Convolutions


def _windows(size: int, kernel: int, stride: int, low: int, high: int, dilation: int) -> int:
    reach = (kernel - 1) * dilation + 1
    require(size + low + high >= reach, "the window is larger than the image")
    return (size + low + high - reach) // stride + 1


def _conv(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 3)
    x, weight, bias = types
    axes, groups = x.rank - 2, attributes["groups"]
    require(_image(x) and weight.rank == x.rank and weight.size > 0, f"{weight} does not fit {x}")
    require(
        groups > 0 and x.shape[1] == weight.shape[1] * groups and weight.shape[0] % groups == 0, "groups do not divide"
    )
    require(bias.shape == weight.shape[:1], f"{bias} does not fit {weight}")
    names = ("strides", "before", "after", "dilations")
    require(all(len(attributes[name]) == axes for name in names), "give strides, padding and dilations per axis")
    require(min(*attributes["strides"], *attributes["dilations"], 1) > 0, "strides and dilations are at least 1")
    require(min(*attributes["before"], *attributes["after"], 0) == 0, "padding is not negative")
    sizes = zip(x.shape[2:], weight.shape[2:], *(attributes[name] for name in names), strict=True)
    return TensorType(
        (x.shape[0], weight.shape[0], *(_windows(s, k, st, lo, hi, d) for s, k, st, lo, hi, d in sizes)), dtype
    )


def _divisor(first: TensorType, rng: Random) -> int:
    divisors = [count for count in range(1, first.shape[1] + 1) if first.shape[1] % count == 0]
    return int(rng.choice(divisors)) if rng.random() < 0.5 else 1


def _kernel(first: TensorType, rng: Random) -> tuple[int, ...]:
    return tuple(int(rng.integers(1, min(3, size) + 1)) for size in first.shape[2:])


def _conv_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    groups = attributes["groups"]
    out = groups * int(rng.integers(1, 4))
    return _weights((out, first.shape[1] // groups, *_kernel(first, rng)), first), _weights((out,), first)


CONV = {
    "strides": per_spatial(1, 3),
    "before": per_spatial(0, 2),
    "after": per_spatial(0, 2),
    "dilations": per_spatial(1, 2),
    "groups": Drawn(_divisor),
}


def _conv_transpose(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 3)
    x, weight, bias = types
    axes, groups = x.rank - 2, attributes["groups"]
    require(_image(x) and weight.rank == x.rank and weight.size > 0 and groups > 0, f"{weight} does not fit {x}")
    require(x.shape[1] == weight.shape[0] and weight.shape[0] % groups == 0, "groups do not divide")
    require(bias.shape == (weight.shape[1] * groups,), f"{bias} does not fit {weight}")
    names = ("strides", "padding", "output_padding", "dilations")
    require(all(len(attributes[name]) == axes for name in names), "give strides, padding and dilations per axis")
    sizes = []
    for size, kernel, stride, pad, more, dilation in zip(
        x.shape[2:], weight.shape[2:], *(attributes[name] for name in names), strict=True
    ):
        require(stride > 0 and dilation > 0 and pad >= 0, "strides and dilations are at least 1")
        require(0 <= more < max(stride, dilation), "output padding is smaller than stride or dilation")
        sizes.append((size - 1) * stride - 2 * pad + dilation * (kernel - 1) + more + 1)
    require(min(sizes) > 0, "nothing is left")
    return TensorType((x.shape[0], bias.shape[0], *sizes), dtype)


def _conv_transpose_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    each = int(rng.integers(1, 4))
    shape = (first.shape[1], each, *_kernel(first, rng))
    return _weights(shape, first), _weights((each * attributes["groups"],), first)


CONV_TRANSPOSE = {
    "strides": per_spatial(1, 3),
    "padding": per_spatial(0, 1),
    "output_padding": per_spatial(0, 1),
    "dilations": per_spatial(1, 2),
    "groups": Drawn(_divisor),
}


# Pooling


def pooled(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil: bool) -> int:
    """How many windows there are; rounding up, none may start beyond the image and the padding before it."""
    reach = (kernel - 1) * dilation + 1
    require(size + 2 * pad >= reach, "the window is larger than the image")
    room = size + 2 * pad - reach
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - 1 if ceil and (count - 1) * stride >= size + pad else count


def _pool(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 1)
    x, axes = types[0], types[0].rank - 2
    require(_image(x), f"is not defined on {x}")
    ones = [1] * axes
    padding, dilations = attributes.get("padding", [0] * axes), attributes.get("dilations", ones)
    kernel, strides = attributes["kernel"], attributes["strides"]
    require(len(kernel) == len(strides) == len(padding) == len(dilations) == axes, "give all numbers per axis")
    require(min(*kernel, *strides, *dilations) > 0, "sizes are at least 1")
    require(
        all(0 <= 2 * pad <= size for pad, size in zip(padding, kernel, strict=True)),
        "padding is at most half the window",
    )
    sizes = zip(x.shape[2:], kernel, strides, padding, dilations, strict=True)
    ceil = bool(attributes.get("ceil", False))
    return TensorType((*x.shape[:2], *(pooled(s, k, st, p, d, ceil) for s, k, st, p, d in sizes)), dtype)


def _adaptive(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 1)
    require(_image(types[0]) and len(attributes["size"]) == types[0].rank - 2, "give a size per axis")
    require(min(attributes["size"]) > 0, "sizes are at least 1")
    return TensorType((*types[0].shape[:2], *attributes["size"]), dtype)


WINDOW = {"kernel": per_spatial(1, 3), "strides": per_spatial(1, 3)}
SIZE = {"size": per_spatial(1, 4)}


# Normalisation


def _channelled(first: TensorType) -> bool:
    return first.is_float and 2 <= first.rank <= 5 and first.size > 0


def _per_channel(count: int) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = _floats(types, 1 + count)
        require(_channelled(types[0]), f"is not defined on {types[0]}")
        require(all(one.shape == types[0].shape[1:2] for one in types[1:]), "one number per channel is needed")
        return TensorType(types[0].shape, dtype)

    return infer


def _group_norm(types: Types, attributes: Attributes) -> TensorType:
    groups = attributes["groups"]
    require(groups > 0 and types[0].rank > 1 and types[0].shape[1] % groups == 0, "groups do not divide")
    return _per_channel(2)(types, attributes)


def _scale_and_bias(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return _weights(first.shape[1:2], first), _weights(first.shape[1:2], first)


def _with_statistics(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    channels = first.shape[1:2]
    return (
        *_scale_and_bias(first, attributes, rng),
        Wanted(channels, first.dtype, "mean"),
        Wanted(channels, first.dtype, "variance"),
    )


def _layer_norm(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 3)
    require_axis(attributes["axis"], types[0].rank)
    require(types[0].size > 0, "nothing to normalise")
    require(all(one.shape == types[0].shape[attributes["axis"] :] for one in types[1:]), "scale or bias do not fit")
    return TensorType(types[0].shape, dtype)


def _layer_norm_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    shape = first.shape[attributes["axis"] :]
    return _weights(shape, first), _weights(shape, first)


def _rms_norm(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 2)
    require(types[0].rank > 0 and types[0].size > 0 and types[1].shape == types[0].shape[-1:], "scale does not fit")
    return TensorType(types[0].shape, dtype)


def _along(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 1)
    require_axis(attributes["axis"], types[0].rank)
    return TensorType(types[0].shape, dtype)


def _same_image(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 1)
    require(_image(types[0]), f"is not defined on {types[0]}")
    return TensorType(types[0].shape, dtype)


# Activations with inputs of their own


def _prelu(types: Types, attributes: Attributes) -> TensorType:
    return _per_channel(1)(types, attributes)


def _glu(types: Types, attributes: Attributes) -> TensorType:
    first = _along(types, attributes)
    axis = attributes["axis"]
    require(first.shape[axis] % 2 == 0, "the axis cannot be halved")
    return TensorType((*first.shape[:axis], first.shape[axis] // 2, *first.shape[axis + 1 :]), first.dtype)


def _dropout(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    require(types[0].is_float and types[1] == TensorType(types[0].shape, "bool"), "the mask does not fit")
    require(0 <= attributes["rate"] < 1, "the rate is in [0, 1)")
    return types[0]


# Sampling


RESIZE_MODES = ("nearest", "nearest_exact", "linear", "linear_align_corners", "cubic", "cubic_align_corners")


def _resize(types: Types, attributes: Attributes) -> TensorType:
    first = _adaptive(types, attributes)
    require("cubic" not in attributes["mode"] or first.rank == 4, "cubic is defined on images of two axes")
    return first


def _grid_sample(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 2)
    x, grid = types
    require(x.rank == 4 and x.size > 0 and grid.rank == 4, "is defined on images of two axes")
    require(grid.shape[0] == x.shape[0] and grid.shape[3] == 2, f"{grid} does not fit {x}")
    return TensorType((x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]), dtype)


def _grid(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted((first.shape[0], int(rng.integers(1, 4)), int(rng.integers(1, 4)), 2), first.dtype, "grid"),)


# Sequences


def _attention(types: Types, attributes: Attributes) -> TensorType:
    dtype = _floats(types, 3)
    query, key, value = types
    require(query.rank == key.rank == value.rank == 3, "is defined on [batch, length, width]")
    require(query.shape[0] == key.shape[0] == value.shape[0] and query.shape[2] == key.shape[2], "keys do not fit")
    require(key.shape[1] == value.shape[1] > 0 and query.size > 0, "values do not fit")
    return TensorType((*query.shape[:2], value.shape[2]), dtype)


def _keys_and_values(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    length = int(rng.integers(1, 6))
    key, value = (first.shape[0], length, first.shape[2]), (first.shape[0], length, int(rng.integers(1, 6)))
    return Wanted(key, first.dtype, "values"), Wanted(value, first.dtype, "values")


def _recurrent(gates: int) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = _floats(types, 5)
        x, taken, kept, bias, other = types
        require(x.rank == 3 and x.size > 0 and taken.rank == 2 and kept.rank == 2, "is defined on [time, batch, width]")
        hidden = kept.shape[1]
        require(hidden > 0 and taken.shape == (gates * hidden, x.shape[2]), "input weights do not fit")
        require(kept.shape == (gates * hidden, hidden), "hidden weights do not fit")
        require(bias.shape == other.shape == (gates * hidden,), "biases do not fit")
        return TensorType((x.shape[0], x.shape[1], hidden), dtype)

    return infer


def _recurrent_extras(gates: int) -> Extras:
    def extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
        hidden = int(rng.integers(1, 5))
        shapes = ((gates * hidden, first.shape[2]), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,))
        return tuple(_weights(shape, first) for shape in shapes)

    return extras


def _sequence(first: TensorType) -> bool:
    return first.is_float and first.rank == 3 and first.size > 0


def _rows(first: TensorType) -> bool:
    return first.is_float and first.rank >= 1


def _filled_rows(first: TensorType) -> bool:
    return _rows(first) and first.size > 0


def _recurrent_operator(name: str, gates: int, meaning: str) -> Operator:
    return Operator(
        name,
        f"{meaning} over x [time, batch, width] from a zero state; inputs x, w [{gates}h, width], "
        f"u [{gates}h, h], b, c [{gates}h]; the states of all times",
        _recurrent(gates),
        _sequence,
        extras=_recurrent_extras(gates),
    )


LAYERS = (
    Operator(
        "matmul",
        "product of matrices, broadcast over the axes before",
        _matmul,
        lambda x: x.is_float and x.rank >= 2,
        {},
        _matmul_extras,
    ),
    Operator("linear", "x wᵀ + b", _linear, _rows, {}, _linear_extras),
    Operator(
        "conv",
        "correlation of x [batch, channels, …] with w [out, channels / groups, …], plus b [out]",
        _conv,
        _image,
        CONV,
        _conv_extras,
    ),
    Operator(
        "conv_transpose",
        "the gradient of conv as torch defines its transposed convolution; w [channels, out / groups, …], b [out]",
        _conv_transpose,
        _image,
        CONV_TRANSPOSE,
        _conv_transpose_extras,
    ),
    Operator(
        "max_pool",
        "largest of each window; padding never wins; with ceil, as torch, windows may pass the end but not start there",
        _pool,
        _image,
        {**WINDOW, "padding": per_spatial(0, 1), "dilations": per_spatial(1, 2), "ceil": FLAG},
    ),
    Operator(
        "avg_pool",
        "mean of each window; include_pad: padding counts as zeros, but not what ceil adds beyond it",
        _pool,
        _image,
        {**WINDOW, "padding": per_spatial(0, 1), "ceil": FLAG, "include_pad": FLAG},
    ),
    Operator("lp_pool", "(Σ |x|ᵖ)^(1/p) of each window", _pool, _image, {**WINDOW, "p": Choice((1, 2, 3))}),
    Operator("adaptive_avg_pool", "mean of windows from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉", _adaptive, _image, SIZE),
    Operator("adaptive_max_pool", "largest of the same windows", _adaptive, _image, SIZE),
    Operator(
        "batch_norm",
        "(x - mean) / √(var + epsilon) scale + bias; inputs x, scale, bias, mean, var",
        _per_channel(4),
        _channelled,
        {"epsilon": EPSILON},
        _with_statistics,
    ),
    Operator(
        "batch_norm_training",
        "the same with mean and biased var of the batch; inputs x, scale, bias",
        _per_channel(2),
        _channelled,
        {"epsilon": EPSILON},
        _scale_and_bias,
    ),
    Operator(
        "instance_norm",
        "the same with mean and biased var of each sample's channel",
        _per_channel(2),
        _image,
        {"epsilon": EPSILON},
        _scale_and_bias,
    ),
    Operator(
        "group_norm",
        "the same with mean and biased var of each sample's group of channels",
        _group_norm,
        _channelled,
        {"groups": Drawn(_divisor), "epsilon": EPSILON},
        _scale_and_bias,
    ),
    Operator(
        "layer_norm",
        "the same over all axes from one on, with scale and bias of their shape",
        _layer_norm,
        _filled_rows,
        {"axis": AXIS, "epsilon": EPSILON},
        _layer_norm_extras,
    ),
    Operator(
        "rms_norm",
        "x / √(mean x² + epsilon) scale over the last axis",
        _rms_norm,
        _filled_rows,
        {"epsilon": EPSILON},
        lambda x, a, rng: (_weights(x.shape[-1:], x),),
    ),
    Operator("l2_normalize", "x / max(√Σx², epsilon) along an axis", _along, _rows, {"axis": AXIS, "epsilon": EPSILON}),
    Operator(
        "local_response_norm",
        "x / (k + alpha / size Σ x²)^beta over the channels from c - ⌊size/2⌋ to c + ⌊(size - 1)/2⌋",
        _same_image,
        _image,
        {"size": Whole(1, 5), "alpha": Real((1e-4, 0.5)), "beta": Real((0.75, 0.5)), "k": Real((1.0, 2.0))},
    ),
    Operator(
        "prelu",
        "x where x > 0 else slope x, a slope per channel",
        _prelu,
        _channelled,
        {},
        lambda x, a, rng: (_weights(x.shape[1:2], x),),
    ),
    Operator(
        "glu",
        "first half times sigmoid of the second along an axis",
        _glu,
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS},
    ),
    Operator(
        "dropout",
        "x mask / (1 - rate); the mask is an input",
        _dropout,
        lambda x: x.is_float,
        {"rate": Real((0.1, 0.5, 0.9))},
        lambda x, a, rng: (Wanted(x.shape, "bool", "mask"),),
    ),
    Operator(
        "resize",
        "to another size: nearest ⌊i n/m⌋; nearest_exact ⌊(i + ½) n/m⌋; linear and cubic (a = -0.75) between pixel "
        "centres, or between corners",
        _resize,
        _image,
        {**SIZE, "mode": Choice(RESIZE_MODES)},
    ),
    Operator(
        "grid_sample",
        "x at the places that grid [batch, h, w, (x, y)] names in [-1, 1], as torch defines it",
        _grid_sample,
        lambda x: _image(x) and x.rank == 4,
        {
            "mode": Choice(("bilinear", "nearest", "bicubic")),
            "padding": Choice(("zeros", "border", "reflection")),
            "align_corners": FLAG,
        },
        _grid,
    ),
    Operator(
        "attention",
        "softmax(q kᵀ / √width) v; causal: query i sees keys 0 … i",
        _attention,
        _sequence,
        {"causal": FLAG},
        _keys_and_values,
    ),
    _recurrent_operator("rnn", 1, "h = tanh(w x + b + u h + c)"),
    _recurrent_operator("lstm", 4, "gates i, f, g, o in this order"),
    _recurrent_operator("gru", 3, "gates r, z, n in this order, n = tanh(w x + b + r (u h + c)), h = (1 - z) n + z h,"),
)

"""How TensorFlow convolves, pools and resizes: with channels last, as its CPU kernels want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.tensorflow.shaping import channels_first, channels_last, slices

Pads = Sequence[tuple[int, int]]  # before and after, for every axis of an image


def _explicit(pads: Pads) -> list[list[int]]:
    """Padding of all axes of a tensor with channels last."""
    return [[0, 0], *([low, high] for low, high in pads), [0, 0]]


def _padded(image: str, pads: Pads, value: str = "0") -> str:
    if not any(low or high for low, high in pads):
        return image
    return f"tf.pad({image}, {_explicit(pads)}, constant_values={value})"


def _conv(call: Call) -> str:
    rank, axes = call.type.rank, call.type.rank - 2
    strides, dilations = call.attributes["strides"], call.attributes["dilations"]
    pads = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    image, kernel = channels_last(call[0], rank), f"tf.transpose({call[1]}, {[*range(2, rank), 1, 0]})"
    if axes == 2:
        padding = str(_explicit(pads))
    else:
        image, padding = _padded(image, pads), '"VALID"'
    if axes == 3 and max(dilations) > 1:
        raise Unsupported("dilates no convolutions of three axes on CPU")
    if axes == 3:
        strides, dilations = [1, *strides, 1], [1, *dilations, 1]
    strides_name = "stride" if axes == 1 else "strides"
    settings = f"{strides_name}={strides}, padding={padding}, dilations={dilations}"
    found = f"tf.nn.conv{axes}d({image}, {kernel}, {settings})"
    return channels_first(f"tf.nn.bias_add({found}, {call[2]})", rank)


def _conv_transpose(call: Call) -> str:
    rank, axes = call.type.rank, call.type.rank - 2
    names = ("strides", "padding", "output_padding", "dilations")
    strides, padding, more, dilations = (call.attributes[name] for name in names)
    if any(extra >= stride for extra, stride in zip(more, strides, strict=True)):
        raise Unsupported("has no output padding of a stride or more")
    if axes != 2 and max(dilations) > 1:
        raise Unsupported("dilates no transposed convolutions of one or three axes on CPU")
    if call.attributes["groups"] > 1:
        raise Unsupported("has no groups in transposed convolutions on CPU")
    full = [size + 2 * pad for size, pad in zip(call.type.shape[2:], padding, strict=True)]
    image, kernel = channels_last(call[0], rank), f"tf.transpose({call[1]}, {[*range(2, rank), 1, 0]})"
    shape = [call.type.shape[0], *full, call.type.shape[1]]
    found = (
        f"tf.nn.conv{axes}d_transpose({image}, {kernel}, {shape}, strides={strides}, "
        f'padding="VALID", dilations={dilations})'
    )
    if any(padding):
        sizes = [call.type.shape[0], *call.type.shape[2:], call.type.shape[1]]
        found = f"{found}[{slices([0, *padding, 0], sizes, [1] * rank)}]"
    return channels_first(f"tf.nn.bias_add({found}, {call[2]})", rank)


def _reached(call: Call) -> Pads:
    """Padding with which the windows without any more padding are those that the operator means."""
    x, attributes, ones = call.types[0], call.attributes, [1] * (call.type.rank - 2)
    sizes = (x.shape[2:], call.type.shape[2:], attributes["kernel"], attributes["strides"])
    more = (attributes.get("padding", [0] * len(ones)), attributes.get("dilations", ones))
    return [
        (pad, max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - size - pad))
        for size, out, kernel, stride, pad, dilation in zip(*sizes, *more, strict=True)
    ]


def _max_pool(call: Call) -> str:
    rank, axes, pads = call.type.rank, call.type.rank - 2, _reached(call)
    kernel, strides, dilations = (call.attributes[name] for name in ("kernel", "strides", "dilations"))
    image = channels_last(call[0], rank)
    if max(dilations) > 1:
        if max(strides) > 1:
            raise Unsupported("has no pooling with both strides and dilations")
        image = _padded(image, pads, "-np.inf")
        found = f'tf.nn.pool({image}, {kernel}, "MAX", strides={strides}, padding="VALID", dilations={dilations})'
        return channels_first(found, rank)
    explicit = axes < 3 and all(max(pad) < size for pad, size in zip(pads, kernel, strict=True))
    padding = str(_explicit(pads)) if explicit else '"VALID"'
    image = image if explicit else _padded(image, pads, "-np.inf")
    return channels_first(f"tf.nn.max_pool{axes}d({image}, {kernel}, {strides}, {padding})", rank)


def _avg_pool(call: Call) -> str:
    rank, axes, pads = call.type.rank, call.type.rank - 2, _reached(call)
    if axes == 3 and call.type.dtype == "float64":
        raise Unsupported("has no kernel for averages of three axes in float64")
    kernel, strides, given = (call.attributes[name] for name in ("kernel", "strides", "padding"))
    beyond = any(high > pad for (_, high), pad in zip(pads, given, strict=True))
    image, padding = channels_last(call[0], rank), '"VALID"'
    if any(low or high for low, high in pads):
        if call.attributes["include_pad"] and not beyond:
            image = _padded(image, pads)
        elif not call.attributes["include_pad"] and _same_padding(call, pads):
            padding = '"SAME"'
        else:
            raise Unsupported("has no average that leaves out such padding")
    return channels_first(f"tf.nn.avg_pool{axes}d({image}, {kernel}, {strides}, {padding})", rank)


def _same_padding(call: Call, pads: Pads) -> bool:
    """Whether "SAME" pads just so."""
    sizes = zip(call.types[0].shape[2:], call.type.shape[2:], call.attributes["strides"], pads, strict=True)
    return all(out == -(-size // stride) and low == (low + high) // 2 for size, out, stride, (low, high) in sizes)


def _adaptive(function: str) -> Expression:
    def expression(call: Call) -> str:
        found = f"tf.keras.ops.{function}({channels_last(call[0], call.type.rank)}, {tuple(call.attributes['size'])})"
        return channels_first(found, call.type.rank)

    return expression


RESIZERS = {
    "nearest": "tf.compat.v1.image.resize_nearest_neighbor({0}, {1})",
    "nearest_exact": 'tf.image.resize({0}, {1}, method="nearest")',
    "linear": 'tf.image.resize({0}, {1}, method="bilinear")',
    "linear_align_corners": "tf.compat.v1.image.resize_bilinear({0}, {1}, align_corners=True)",
    "cubic_align_corners": "tf.compat.v1.image.resize_bicubic({0}, {1}, align_corners=True)",
}


def _resize(call: Call) -> str:
    mode, size = call.attributes["mode"], call.attributes["size"]
    if call.type.rank != 4:
        raise Unsupported("resizes images of two axes only")
    if mode == "cubic":
        raise Unsupported("documents another cubic kernel, of a = -0.5")
    if call.type.dtype != "float32" and "nearest" not in mode:
        raise Unsupported("resizes to float32 only")
    return channels_first(RESIZERS[mode].format(channels_last(call[0], 4), size), 4)


def _local_response_norm(call: Call) -> str:
    size, shape = call.attributes["size"], call.type.shape
    if size % 2 == 0 or call.type.dtype != "float32":
        raise Unsupported("normalises float32 over an odd number of channels only")
    image = call[0] if len(shape) == 4 else f"tf.reshape({call[0]}, {[*shape[:2], -1, 1]})"
    alpha = f"{call.literal('alpha')} / {size}"
    settings = f"bias={call.literal('k')}, alpha={alpha}, beta={call.literal('beta')}"
    found = channels_first(
        f"tf.nn.local_response_normalization({channels_last(image, 4)}, depth_radius={size // 2}, {settings})", 4
    )
    return found if len(shape) == 4 else f"tf.reshape({found}, {list(shape)})"


WINDOWS: Mapping[str, Expression] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "adaptive_avg_pool": _adaptive("adaptive_average_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool"),
    "resize": _resize,
    "local_response_norm": _local_response_norm,
}

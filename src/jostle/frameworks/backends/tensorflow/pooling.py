"""How TensorFlow pools."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.tensorflow.convolutions import Pads, explicit_padding, padded
from jostle.frameworks.backends.tensorflow.shaping import channels_first, channels_last


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
        image = padded(image, pads, "-np.inf")
        found = f'tf.nn.pool({image}, {kernel}, "MAX", strides={strides}, padding="VALID", dilations={dilations})'
        return channels_first(found, rank)
    explicit = axes < 3 and all(max(pad) < size for pad, size in zip(pads, kernel, strict=True))
    padding = str(explicit_padding(pads)) if explicit else '"VALID"'
    image = image if explicit else padded(image, pads, "-np.inf")
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
            image = padded(image, pads)
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


POOLING: Mapping[str, Expression] = {
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "adaptive_avg_pool": _adaptive("adaptive_average_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool"),
}

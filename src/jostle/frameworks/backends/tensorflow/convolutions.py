"""How TensorFlow convolves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import slices
from jostle.frameworks.backends.tensorflow.shaping import channels_first, channels_last

Pads = Sequence[tuple[int, int]]  # before and after, for every axis of an image


def explicit_padding(pads: Pads) -> list[list[int]]:
    """Padding of all axes of a tensor with channels last."""
    return [[0, 0], *([low, high] for low, high in pads), [0, 0]]


def padded(image: str, pads: Pads, value: str = "0") -> str:
    if not any(low or high for low, high in pads):
        return image
    return f"tf.pad({image}, {explicit_padding(pads)}, constant_values={value})"


def _conv(call: Call) -> str:
    rank, axes = call.type.rank, call.type.rank - 2
    strides, dilations = call.attributes["strides"], call.attributes["dilations"]
    pads = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    image, kernel = channels_last(call[0], rank), f"tf.transpose({call[1]}, {[*range(2, rank), 1, 0]})"
    if axes == 2:
        padding = str(explicit_padding(pads))
    else:
        image, padding = padded(image, pads), '"VALID"'
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


CONVOLUTIONS: Mapping[str, Expression] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
}

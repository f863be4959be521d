"""How TensorFlow moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import sliced, slices, template


def _pad(call: Call) -> str:
    mode, before, after = (call.attributes[name] for name in ("mode", "before", "after"))
    if mode in ("replicate", "circular"):
        return _repeated(call, mode, before, after)
    paddings = [[max(low, 0), max(high, 0)] for low, high in zip(before, after, strict=True)]
    kept = _cut(call, before, after)
    if mode == "reflect":
        return f'tf.pad({kept}, {paddings}, mode="REFLECT")'
    value = call.literal("value") if call.type.is_float else str(int(call.attributes["value"]))
    return f"tf.pad({kept}, {paddings}, constant_values={value})"


def _cut(call: Call, before: Sequence[int], after: Sequence[int]) -> str:
    """The input without what negative padding takes away."""
    if min(*before, *after, 0) == 0:
        return call[0]
    starts = [max(-low, 0) for low in before]
    sizes = [size - start + min(high, 0) for size, start, high in zip(call.types[0].shape, starts, after, strict=True)]
    return f"{call[0]}[{slices(starts, sizes, [1] * len(sizes))}]"


def _repeated(call: Call, mode: str, before: Sequence[int], after: Sequence[int]) -> str:
    expression = call[0]
    for axis, (size, low, high) in enumerate(zip(call.types[0].shape, before, after, strict=True)):
        if low or high:
            places = range(-low, size + high)
            taken = [place % size if mode == "circular" else min(max(place, 0), size - 1) for place in places]
            expression = f"tf.gather({expression}, {taken}, axis={axis})"
    return expression


def _gather(call: Call) -> str:
    axis = call.attributes["axis"]
    if axis == call.type.rank - 1:
        return f"tf.gather({call[0]}, {call[1]}, axis={axis}, batch_dims={axis})"
    return f"tf.experimental.numpy.take_along_axis({call[0]}, {call[1]}, axis={axis})"


def _scatter(call: Call) -> str:
    reduction, axis, indices = call.attributes["reduction"], call.attributes["axis"], call[1]
    if reduction == "mul":
        raise Unsupported("scatters no products")
    sizes = call.types[1].shape
    ranges = ", ".join(f"tf.range({size}, dtype=tf.int64)" for size in sizes)
    grid = f'tf.meshgrid({ranges}, indexing="ij")'
    places = f"[*{grid}[:{axis}], {indices}, *{grid}[{axis + 1}:]]"
    return f"tf.tensor_scatter_nd_{reduction}({call[0]}, tf.stack({places}, axis=-1), {call[2]})"


INDEXING: Mapping[str, Expression] = {
    "slice": sliced,
    "flip": template("tf.reverse({0}, axis={axes})"),
    "roll": template("tf.roll({0}, shift={shift}, axis={axis})"),
    "pad": _pad,
    "tile": template("tf.tile({0}, {repeats})"),
    "gather": _gather,
    "take": template("tf.gather({0}, {1}, axis={axis})"),
    "scatter": _scatter,
    "one_hot": template("tf.one_hot({0}, {depth})"),
}

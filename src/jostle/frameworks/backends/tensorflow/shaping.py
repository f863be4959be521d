"""How TensorFlow moves elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template


def channels_last(name: str, rank: int) -> str:
    """An image as TensorFlow's CPU kernels want it."""
    return f"tf.transpose({name}, {[0, *range(2, rank), 1]})"


def channels_first(expression: str, rank: int) -> str:
    return f"tf.transpose({expression}, {[0, rank - 1, *range(1, rank - 1)]})"


def slices(starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> str:
    """As they are written between brackets."""
    return ", ".join(_slice(*each) for each in zip(starts, sizes, steps, strict=True))


def _slice(start: int, size: int, step: int) -> str:
    if size == 0:
        return f"{start}:{start}"
    stop = start + (size - 1) * step + (1 if step > 0 else -1)
    return f"{start}:{stop if stop >= 0 else ''}{f':{step}' if step != 1 else ''}"


def _unsqueeze(call: Call) -> str:
    expression = call[0]
    for axis in call.attributes["axes"]:
        expression = f"tf.expand_dims({expression}, axis={axis})"
    return expression


def _joined(function: str) -> Expression:
    return lambda call: f"{function}([{', '.join(call.node.inputs)}], axis={call.literal('axis')})"


def _sliced(call: Call) -> str:
    each = slices(*(call.attributes[name] for name in ("starts", "sizes", "steps")))
    return f"{call[0]}[{each}]"


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


def _triangle(keeps_lower: bool) -> Expression:
    def expression(call: Call) -> str:
        rows, columns = call.type.shape[-2:]
        diagonal = call.attributes["diagonal"] if keeps_lower else -call.attributes["diagonal"]
        if not 0 <= diagonal <= (columns if keeps_lower else rows):
            function = "tril" if keeps_lower else "triu"
            return f"tf.experimental.numpy.{function}({call[0]}, k={call.literal('diagonal')})"
        return f"tf.linalg.band_part({call[0]}, {f'-1, {diagonal}' if keeps_lower else f'{diagonal}, -1'})"

    return expression


def _depth_to_space(call: Call) -> str:
    block = call.attributes["block"]
    if call.attributes["mode"] == "dcr":
        return channels_first(f"tf.nn.depth_to_space({channels_last(call[0], 4)}, {block})", 4)
    batch, channels, height, width = call.types[0].shape
    split = f"tf.reshape({call[0]}, {[batch, channels // block**2, block, block, height, width]})"
    return f"tf.reshape(tf.transpose({split}, [0, 1, 4, 2, 5, 3]), {list(call.type.shape)})"


def _space_to_depth(call: Call) -> str:
    return channels_first(f"tf.nn.space_to_depth({channels_last(call[0], 4)}, {call.literal('block')})", 4)


def _sort(call: Call) -> str:
    direction = "DESCENDING" if call.attributes["descending"] else "ASCENDING"
    return f'tf.sort({call[0]}, axis={call.literal("axis")}, direction="{direction}")'


def _top(part: str) -> Expression:
    """TensorFlow finds the largest along the last axis only."""

    def expression(call: Call) -> str:
        axis, last = call.attributes["axis"], call.type.rank - 1
        order = [axis if at == last else last if at == axis else at for at in range(last + 1)]
        given = call[0] if axis == last else f"tf.transpose({call[0]}, {order})"
        sign = "" if call.attributes["largest"] else "-"
        index_type = ", index_type=tf.int64" if part == "indices" else ""
        found = f"tf.math.top_k({sign}{given}, k={call.literal('k')}{index_type}).{part}"
        found = f"{sign}{found}" if part == "values" else found
        return found if axis == last else f"tf.transpose({found}, {order})"

    return expression


SHAPING: Mapping[str, Expression] = {
    "reshape": template("tf.reshape({0}, {shape})"),
    "transpose": template("tf.transpose({0}, {permutation})"),
    "squeeze": template("tf.squeeze({0}, axis={axes})"),
    "unsqueeze": _unsqueeze,
    "expand": template("tf.broadcast_to({0}, {shape})"),
    "concat": _joined("tf.concat"),
    "stack": _joined("tf.stack"),
    "slice": _sliced,
    "flip": template("tf.reverse({0}, axis={axes})"),
    "roll": template("tf.roll({0}, shift={shift}, axis={axis})"),
    "pad": _pad,
    "tile": template("tf.tile({0}, {repeats})"),
    "gather": _gather,
    "take": template("tf.gather({0}, {1}, axis={axis})"),
    "scatter": _scatter,
    "one_hot": template("tf.one_hot({0}, {depth})"),
    "tril": _triangle(keeps_lower=True),
    "triu": _triangle(keeps_lower=False),
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "sort": _sort,
    "topk_values": _top("values"),
    "topk_indices": _top("indices"),
}

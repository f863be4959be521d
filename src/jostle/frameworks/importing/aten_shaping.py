"""The operators of torch's own graphs that move elements, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, axes_of
from jostle.frameworks.importing.building import GraphBuilder


def _reshape(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.reshaped(given["self"], value.shape)


def _transpose(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    order = list(range(value.dim()))
    first, second = (given["dim0"], given["dim1"]) if "dim0" in given else (0, -1)
    if order:
        order[first], order[second] = order[second], order[first]
    return given["self"] if order == sorted(order) else builder.node("transpose", given["self"], permutation=order)


def _permute(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("transpose", given["self"], permutation=[axis % value.dim() for axis in given["dims"]])


def _expand(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("expand", given["self"], shape=[int(size) for size in value.shape])


def cut(builder: GraphBuilder, name: str, axis: int, start: int, size: int, step: int = 1) -> str:
    """A part along one axis; the whole is the tensor itself."""
    shape = builder.types[name].shape
    if (start, size, step) == (0, shape[axis], 1):
        return name
    starts, steps, sizes = [0] * len(shape), [1] * len(shape), list(shape)
    starts[axis], steps[axis], sizes[axis] = start, step, size
    return builder.node("slice", name, starts=starts, sizes=sizes, steps=steps)


def _slice(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    axis = given["dim"] % value.dim()
    full = builder.types[given["self"]].shape[axis]
    start, stop, step = slice(given["start"], given["end"], given["step"]).indices(full)
    return cut(builder, given["self"], axis, start, len(range(start, stop, step)), step)


def _select(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    shape = builder.types[given["self"]].shape
    axis = given["dim"] % len(shape)
    return builder.reshaped(cut(builder, given["self"], axis, given["index"] % shape[axis], 1), value.shape)


def _split(builder: GraphBuilder, given: Arguments, value: Sequence[Any]) -> list[str]:
    """Of any kind: torch's results tell the sizes."""
    axis, parts, start = given["dim"] % value[0].dim(), [], 0
    for part in value:
        parts.append(cut(builder, given["self"], axis, start, int(part.shape[axis])))
        start += int(part.shape[axis])
    return parts


def _unbind(builder: GraphBuilder, given: Arguments, value: Sequence[Any]) -> list[str]:
    axis = given["dim"] % (value[0].dim() + 1)
    return [builder.reshaped(cut(builder, given["self"], axis, at, 1), one.shape) for at, one in enumerate(value)]


def _cat(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return _joined(builder, "concat", given["tensors"], given["dim"] % value.dim())


def _stack(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return _joined(builder, "stack", given["tensors"], given["dim"] % value.dim())


def _joined(builder: GraphBuilder, operator: str, names: Sequence[str], axis: int) -> str:
    if not 2 <= len(names) <= 4:
        raise Untranslated(f"{operator} of {len(names)} tensors")
    return builder.add(operator, names, {"axis": axis})


def _flip(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("flip", given["self"], axes=axes_of({"dim": given["dims"]}, value.dim()))


def _pad(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    """torch lists pairs from the last axis on."""
    before, after = [0] * value.dim(), [0] * value.dim()
    for place, pair in enumerate(zip(given["pad"][::2], given["pad"][1::2], strict=True)):
        before[-1 - place], after[-1 - place] = pair
    number = float(given.get("value") or 0.0)
    return builder.node(
        "pad", given["self"], mode=given.get("mode", "constant"), before=before, after=after, value=number
    )


def _embedding(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    indices = builder.as_dtype(given["indices"], "int64")
    flat = builder.reshaped(indices, (builder.types[indices].size,))
    return builder.reshaped(builder.node("take", given["weight"], flat, axis=0), value.shape)


def _index_select(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("take", given["self"], given["index"], axis=given["dim"] % value.dim())


def _gather(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("gather", given["self"], given["index"], axis=given["dim"] % value.dim())


def _triangle(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        return builder.node(operator, given["self"], diagonal=given["diagonal"])

    return translate


def _pixel_shuffle(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("depth_to_space", given["self"], block=given["upscale_factor"], mode="crd")


RESHAPED = ("view", "_unsafe_view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as")
SHAPING: Mapping[str, Translation] = {
    **dict.fromkeys(RESHAPED, _reshape),
    "transpose": _transpose,
    "t": _transpose,
    "numpy_T": _transpose,
    "permute": _permute,
    "expand": _expand,
    "expand_as": _expand,
    "slice": _slice,
    "select": _select,
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _split,
    "unbind": _unbind,
    "cat": _cat,
    "concat": _cat,
    "stack": _stack,
    "flip": _flip,
    "pad": _pad,
    "constant_pad_nd": _pad,
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "pixel_shuffle": _pixel_shuffle,
}

"""The operators of torch's own graphs that move elements along axes, or go by positions, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, axes_of
from jostle.frameworks.importing.building import GraphBuilder


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


INDEXING: Mapping[str, Translation] = {
    "slice": _slice,
    "select": _select,
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _split,
    "unbind": _unbind,
    "flip": _flip,
    "pad": _pad,
    "constant_pad_nd": _pad,
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
}

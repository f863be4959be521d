"""Our operators for those of ONNX that move elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.importing.onnx_counterparts import Counterpart, numbers
from jostle.frameworks.importing.onnx_reading import NoCounterpart, Read, Reading, axis_of


def _reshape(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape, old = numbers(g, node, "shape", 1) or [], g.type(x).shape
    if not node.attributes.get("allowzero", 0):
        shape = [old[at] if size == 0 and at < len(old) else size for at, size in enumerate(shape)]
    rest = math.prod(size for size in shape if size != -1)
    return [g.reshaped(x, [g.type(x).size // max(rest, 1) if size == -1 else size for size in shape])]


def _flatten(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape = g.type(x).shape
    axis = axis_of(node.attributes.get("axis", 1), len(shape))
    return [g.reshaped(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])]


def _transpose(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    return [g.add("transpose", x, permutation=list(node.attributes.get("perm", range(g.type(x).rank)[::-1])))]


def _squeeze(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape = g.type(x).shape
    axes = numbers(g, node, "axes", 1)
    chosen = [at for at, size in enumerate(shape) if size == 1] if axes is None else axes
    return [g.add("squeeze", x, axes=sorted(axis_of(axis, len(shape)) for axis in chosen)) if chosen else x]


def _unsqueeze(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    axes = numbers(g, node, "axes", 1) or []
    return [g.add("unsqueeze", x, axes=sorted(axis_of(axis, g.type(x).rank + len(axes)) for axis in axes))]


def _expand(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape = np.broadcast_shapes(g.type(x).shape, tuple(g.whole(node, 1)))
    return [g.add("expand", x, shape=[int(size) for size in shape])]


def _concat(g: Reading, node: Read) -> Sequence[str]:
    """Ours takes four at a time."""
    parts = [g.tensor(name) for name in node.inputs]
    axis = axis_of(node.attributes["axis"], g.type(parts[0]).rank)
    while len(parts) > 1:
        parts = [g.add("concat", *parts[:4], axis=axis), *parts[4:]]
    return parts


def _slice(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape = g.type(x).shape
    starts, ends = numbers(g, node, "starts", 1) or [], numbers(g, node, "ends", 2) or []
    axes = numbers(g, node, "axes", 3)
    steps = (g.whole(node, 4) if node.has(4) else None) or [1] * len(starts)
    taken = [range(size) for size in shape]
    for start, end, axis, step in zip(
        starts, ends, axes if axes is not None else range(len(starts)), steps, strict=True
    ):
        at = axis_of(axis, len(shape))
        taken[at] = range(shape[at])[slice(start, _end(end, shape[at], step), step)]
    return [_taken(g, x, taken)]


def _end(end: int, size: int, step: int) -> int | None:
    """Python has no number for an end before the start; ONNX writes a very small one."""
    return None if step < 0 and end < -size else end


def _taken(g: Reading, x: str, taken: Sequence[range]) -> str:
    given: dict[str, Any] = {
        "starts": [one.start if len(one) else 0 for one in taken],
        "sizes": [len(one) for one in taken],
        "steps": [one.step for one in taken],
    }
    return g.add("slice", x, **given)


def _split(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    shape = g.type(x).shape
    axis = axis_of(node.attributes.get("axis", 0), len(shape))
    each = -(-shape[axis] // len(node.outputs))
    sizes = numbers(g, node, "split", 1) or [each] * len(node.outputs)
    parts, start = [], 0
    for size in sizes:
        end = min(start + size, shape[axis])
        parts.append(_taken(g, x, [range(start, end) if at == axis else range(full) for at, full in enumerate(shape)]))
        start = end
    return parts


MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def _pad(g: Reading, node: Read) -> Sequence[str]:
    x = g.tensor(node.inputs[0])
    rank = g.type(x).rank
    pads = numbers(g, node, "pads", 1) or []
    value = float(g.known(node, 2)) if node.has(2) else float(node.attributes.get("value", 0.0))
    axes = [axis_of(axis, rank) for axis in g.whole(node, 3)] if node.has(3) else list(range(rank))
    before, after = [0] * rank, [0] * rank
    for at, axis in enumerate(axes):
        before[axis], after[axis] = pads[at], pads[at + len(axes)]
    mode = MODES[node.attributes.get("mode", "constant")]
    return [g.add("pad", x, mode=mode, before=before, after=after, value=value)]


def _tile(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("tile", g.tensor(node.inputs[0]), repeats=g.whole(node, 1))]


def _gather(g: Reading, node: Read) -> Sequence[str]:
    """Ours takes one list of positions from the start."""
    x, indices = g.tensor(node.inputs[0]), g.known(node, 1).astype(np.int64)
    shape = g.type(x).shape
    axis = axis_of(node.attributes.get("axis", 0), len(shape))
    positions = g.constant(np.where(indices < 0, indices + shape[axis], indices).ravel(), node.inputs[1])
    return [g.reshaped(g.add("take", x, positions, axis=axis), [*shape[:axis], *indices.shape, *shape[axis + 1 :]])]


def _gather_elements(g: Reading, node: Read) -> Sequence[str]:
    x, indices = map(g.tensor, node.inputs)
    return [g.add("gather", x, indices, axis=axis_of(node.attributes.get("axis", 0), g.type(x).rank))]


def _scatter_elements(g: Reading, node: Read) -> Sequence[str]:
    inputs, reduction = [g.tensor(name) for name in node.inputs], node.attributes.get("reduction", "none")
    if reduction == "none":
        raise NoCounterpart("ScatterElements with reduction=none")
    axis = axis_of(node.attributes.get("axis", 0), g.type(inputs[0]).rank)
    return [g.add("scatter", *inputs, axis=axis, reduction=reduction)]


def _trilu(g: Reading, node: Read) -> Sequence[str]:
    upper, diagonal = node.attributes.get("upper", 1), g.whole(node, 1)[0] if node.has(1) else 0
    return [g.add("triu" if upper else "tril", g.tensor(node.inputs[0]), diagonal=diagonal)]


def _depth_to_space(g: Reading, node: Read) -> Sequence[str]:
    mode = node.attributes.get("mode", "DCR").lower()
    return [g.add("depth_to_space", g.tensor(node.inputs[0]), block=node.attributes["blocksize"], mode=mode)]


def _space_to_depth(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("space_to_depth", g.tensor(node.inputs[0]), block=node.attributes["blocksize"])]


def _topk(g: Reading, node: Read) -> Sequence[str]:
    node.only(sorted=1)
    x = g.tensor(node.inputs[0])
    axis = axis_of(node.attributes.get("axis", -1), g.type(x).rank)
    given = {"k": g.whole(node, 1)[0], "axis": axis, "largest": bool(node.attributes.get("largest", 1))}
    return [g.add("topk_values", x, **given), g.add("topk_indices", x, **given)]


SHAPES: Mapping[str, Counterpart] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Expand": _expand,
    "Concat": _concat,
    "Slice": _slice,
    "Split": _split,
    "Pad": _pad,
    "Tile": _tile,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "ScatterElements": _scatter_elements,
    "Trilu": _trilu,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "TopK": _topk,
}

"""Our operators for those of ONNX that move elements along axes, or go by positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading, axis_of, numbers


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


INDEXING: Mapping[str, Counterpart] = {
    "Slice": _slice,
    "Split": _split,
    "Pad": _pad,
    "Tile": _tile,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "ScatterElements": _scatter_elements,
}

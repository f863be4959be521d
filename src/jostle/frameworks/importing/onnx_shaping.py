"""Our operators for those of ONNX that reshape, transpose or join tensors, or go by rows and columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, Read, Reading, axis_of, numbers


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


def _trilu(g: Reading, node: Read) -> Sequence[str]:
    upper, diagonal = node.attributes.get("upper", 1), g.whole(node, 1)[0] if node.has(1) else 0
    return [g.add("triu" if upper else "tril", g.tensor(node.inputs[0]), diagonal=diagonal)]


def _depth_to_space(g: Reading, node: Read) -> Sequence[str]:
    mode = node.attributes.get("mode", "DCR").lower()
    return [g.add("depth_to_space", g.tensor(node.inputs[0]), block=node.attributes["blocksize"], mode=mode)]


def _space_to_depth(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("space_to_depth", g.tensor(node.inputs[0]), block=node.attributes["blocksize"])]


SHAPING: Mapping[str, Counterpart] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Expand": _expand,
    "Concat": _concat,
    "Trilu": _trilu,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}

"""Which version of the ONNX operator set a model is written in: one that every runtime beside it has, if possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jostle.frameworks.backends.onnx.nodes import OnnxNode, Sketch

# Versions of the operator set, each with the first version of the file format for it.
FORMATS: Mapping[int, int] = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 26: 13}
USUAL, NEWEST = 22, max(FORMATS)
# Operators that came, or came to mean what we write, after the oldest of these.
SINCE: Mapping[str, int] = {
    "AffineGrid": 20,
    "Gelu": 20,
    "GridSample": 20,
    "GroupNormalization": 21,
    "Attention": 23,
    "RMSNormalization": 23,
    "CumProd": 26,
}


@dataclass(frozen=True)
class Opsets:
    """What models are written in if nothing in them is newer, and the newest that a runtime has."""

    usual: int = USUAL
    newest: int = NEWEST


EVERY_RUNTIME_IS_NEW = Opsets()


def usual_for(newest: Iterable[int]) -> int:
    """The newest that runtimes have in common, given the newest of each."""
    return min([USUAL, *newest])


def needed(sketches: Iterable[Sketch]) -> int:
    """The oldest version that has all of these nodes."""
    return max((_since(node, sketch) for sketch in sketches for node in sketch.nodes), default=min(FORMATS))


def _since(node: OnnxNode, sketch: Sketch) -> int:
    if node.kind in ("ReduceMax", "ReduceMin") and sketch.x.dtype == "bool":
        return 20
    if node.attributes.get("ceil_mode") == "1":
        return 22  # before, a last window could begin in the padding
    if node.attributes.get("mode") == repr("wrap"):
        return 19
    return SINCE.get(node.kind, min(FORMATS))

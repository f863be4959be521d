"""How ONNX moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.numpy_like import PAD_MODES
from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native, with_list
from jostle.frameworks.backends.program import Unsupported

BEFORE_ALL = -(2**31)  # an end that no slice backwards reaches


def _slice(s: Sketch) -> str:
    starts, sizes, steps = (s.attributes[name] for name in ("starts", "sizes", "steps"))
    ends = [start + size * step for start, size, step in zip(starts, sizes, steps, strict=True)]
    ends = [end if end >= 0 else BEFORE_ALL for end in ends]
    return _sliced(s, "", starts, ends, list(range(s.x.rank)), steps)


def _sliced(s: Sketch, stem: str, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> str:
    given = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    return s.add("Slice", s[0], *(s.constant(stem + name, value) for name, value in given.items()))


def _flip(s: Sketch) -> str:
    axes = s.attributes["axes"]
    return _sliced(s, "", [-1] * len(axes), [BEFORE_ALL] * len(axes), axes, [-1] * len(axes))


def _roll(s: Sketch) -> str:
    axis = s.attributes["axis"]
    size = s.x.shape[axis]
    shift = s.attributes["shift"] % size if size else 0
    if shift == 0:
        return s.add("Identity", s[0])
    last = _sliced(s, "last_", [size - shift], [size], [axis], [1])
    return s.add("Concat", last, _sliced(s, "first_", [0], [size - shift], [axis], [1]), axis=axis)


def _pad(s: Sketch) -> str:
    pads = s.constant("pads", s.attributes["before"] + s.attributes["after"])
    value = s.attributes["value"] if s.x.is_float else int(s.attributes["value"])
    inputs = [pads, s.constant("value", value, s.x.dtype)] if s.attributes["mode"] == "constant" else [pads]
    return s.add("Pad", s[0], *inputs, mode=PAD_MODES[s.attributes["mode"]])


def _one_hot(s: Sketch) -> str:
    """With ONNX, positions below 0 count from the end; with us they name none."""
    if s.x.rank == 0:
        raise Unsupported("OneHot takes no scalar")
    depth = s.constant("depth", s.attributes["depth"])
    named = s.add("Where", s.add("Less", s[0], s.constant("zero", 0)), depth, s[0])
    return s.add("OneHot", named, depth, s.constant("values", [0.0, 1.0], "float32"))


INDEXING: Mapping[str, Sketcher] = {
    "slice": _slice,
    "flip": _flip,
    "roll": _roll,
    "pad": _pad,
    "tile": with_list("Tile", "repeats"),
    "gather": native("GatherElements", "axis"),
    "take": native("Gather", "axis"),
    "scatter": native("ScatterElements", "axis", "reduction"),
    "one_hot": _one_hot,
}

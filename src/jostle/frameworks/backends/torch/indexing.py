"""How torch moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.backends.templates import fill, templates

MOST_PADDED = 3  # axes that torch pads by repeating what is there


def _slice(call: Call) -> str:
    """torch has no negative steps: the same elements forwards, then turned around."""
    attributes = call.attributes
    along = list(zip(attributes["starts"], attributes["sizes"], attributes["steps"], strict=True))
    text = f"{call[0]}[{', '.join(_forwards(*one) for one in along)}]"
    backwards = [axis for axis, (_, size, step) in enumerate(along) if step < 0 and size > 1]
    return f"torch.flip({text}, {backwards})" if backwards else text


def _forwards(start: int, size: int, step: int) -> str:
    if size == 0:
        return f"{start}:{start}"
    low, high = sorted((start, start + (size - 1) * step))
    return f"{low}:{high + 1}" + ("" if abs(step) == 1 else f":{abs(step)}")


def _pad(call: Call) -> str:
    pairs = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    while pairs and pairs[0] == (0, 0):
        del pairs[0]
    if call.attributes["mode"] == "constant":
        return fill(f"F.pad({{0}}, {_from_the_last(pairs)}, value={{value}})", call)
    return _repeating_pad(call, pairs)


def _repeating_pad(call: Call, pairs: list[tuple[int, int]]) -> str:
    """torch repeats along the last one to three axes of one or two more."""
    rank = call.type.rank
    pairs = [(0, 0)] * (max(rank - 2, 1) - len(pairs)) + pairs
    if len(pairs) > MOST_PADDED:
        raise Unsupported(f"pads at most {MOST_PADDED} axes by {call.attributes['mode']}")
    if call.attributes["mode"] != "circular" and call.type.dtype == "bool":
        raise Unsupported(f"has no {call.attributes['mode']} padding of {call.type.dtype}")
    if 0 in call.types[0].shape:
        raise Unsupported("repeats only what has elements")
    mode = f"mode={call.literal('mode')}"
    if rank > len(pairs):
        return f"F.pad({call[0]}, {_from_the_last(pairs)}, {mode})"
    return f"F.pad({call[0]}.unsqueeze(0), {_from_the_last(pairs)}, {mode}).squeeze(0)"


def _from_the_last(pairs: list[tuple[int, int]]) -> str:
    return literal([size for pair in reversed(pairs) for size in pair])


REDUCED = {"mul": "prod", "max": "amax", "min": "amin"}


def _scatter(call: Call) -> str:
    if call.attributes["reduction"] == "add":
        return fill("torch.scatter_add({0}, {axis}, {1}, {2})", call)
    reduced = REDUCED[call.attributes["reduction"]]
    return fill(f'torch.scatter_reduce({{0}}, {{axis}}, {{1}}, {{2}}, reduce="{reduced}")', call)


INDEXING: Mapping[str, Expression] = {
    **templates(
        {
            "flip": "torch.flip({0}, {axes})",
            "roll": "torch.roll({0}, {shift}, {axis})",
            "tile": "torch.tile({0}, {repeats})",
            "gather": "torch.gather({0}, {axis}, {1})",
            "take": "torch.index_select({0}, {axis}, {1})",
            # F.one_hot refuses positions that are not there
            "one_hot": "({0}.unsqueeze(-1) == torch.arange({depth})).to(torch.{dtype})",
        }
    ),
    "slice": _slice,
    "pad": _pad,
    "scatter": _scatter,
}

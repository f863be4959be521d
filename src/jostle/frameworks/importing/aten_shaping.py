"""The operators of torch's own graphs that reshape, transpose or join tensors, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated
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


def _cat(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return _joined(builder, "concat", given["tensors"], given["dim"] % value.dim())


def _stack(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return _joined(builder, "stack", given["tensors"], given["dim"] % value.dim())


def _joined(builder: GraphBuilder, operator: str, names: Sequence[str], axis: int) -> str:
    if not 2 <= len(names) <= 4:
        raise Untranslated(f"{operator} of {len(names)} tensors")
    return builder.add(operator, names, {"axis": axis})


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
    "cat": _cat,
    "concat": _cat,
    "stack": _stack,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "pixel_shuffle": _pixel_shuffle,
}

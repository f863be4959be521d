"""The operators of torch's own graphs that pool, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, per_axis
from jostle.frameworks.importing.building import GraphBuilder


def _window(given: Arguments, axes: int) -> dict[str, list[int]]:
    kernel = per_axis(given["kernel_size"], axes)
    strides = per_axis(given["stride"], axes) if given["stride"] else kernel
    return {"kernel": kernel, "strides": strides, "padding": per_axis(given["padding"], axes)}


def _max_pool(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    _require_batch(builder, given["self"], value, "max_pool")
    axes = value.dim() - 2
    dilations = per_axis(given["dilation"], axes)
    return builder.node("max_pool", given["self"], dilations=dilations, ceil=given["ceil_mode"], **_window(given, axes))


def _avg_pool(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if given.get("divisor_override") is not None:
        raise Untranslated("avg_pool with a divisor")
    settings = {"ceil": given["ceil_mode"], "include_pad": given["count_include_pad"]}
    return builder.node("avg_pool", given["self"], **settings, **_window(given, value.dim() - 2))


def _require_batch(builder: GraphBuilder, name: str, value: Any, operator: str) -> None:
    if builder.types[name].rank != value.dim() or value.dim() < 3:
        raise Untranslated(f"{operator} without a batch")


def _adaptive(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        return builder.node(operator, given["self"], size=[int(size) for size in value.shape[2:]])

    return translate


POOLING: Mapping[str, Translation] = {
    **{f"max_pool{axes}d": _max_pool for axes in (1, 2, 3)},
    **{f"avg_pool{axes}d": _avg_pool for axes in (1, 2, 3)},
    **{f"adaptive_avg_pool{axes}d": _adaptive("adaptive_avg_pool") for axes in (1, 2, 3)},
}

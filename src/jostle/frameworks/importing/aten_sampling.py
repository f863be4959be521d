"""The operators of torch's own graphs that look between pixels, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation
from jostle.frameworks.importing.building import GraphBuilder


def _resize(mode: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        named = f"{mode}_align_corners" if given.get("align_corners") else mode
        return builder.node(
            "resize", given.get("self") or given["input"], size=list(map(int, value.shape[2:])), mode=named
        )

    return translate


SAMPLING: Mapping[str, Translation] = {
    **{f"upsample_nearest{axes}d": _resize("nearest") for axes in (1, 2, 3)},
    **{f"_upsample_nearest_exact{axes}d": _resize("nearest_exact") for axes in (1, 2, 3)},
    **{f"upsample_{name}": _resize("linear") for name in ("linear1d", "bilinear2d", "trilinear3d")},
    "upsample_bicubic2d": _resize("cubic"),
}

"""How Paddle looks between pixels."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.indexing import FORMATS
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template

LINEAR_MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}


def _resize(call: Call) -> str:
    mode, rank = call.attributes["mode"], call.type.rank
    if mode == "nearest_exact":
        raise Unsupported("has no nearest_exact")
    if mode == "nearest" and rank == 3:
        raise Unsupported("resizes sequences linearly only")
    kind = "nearest" if mode == "nearest" else "bicubic" if "cubic" in mode else LINEAR_MODES[rank]
    align = ", align_corners=True" if mode.endswith("align_corners") else ""
    data_format = "NCW" if rank == 3 else FORMATS[rank]
    return f'F.interpolate({call[0]}, {call.literal("size")}, mode="{kind}"{align}, data_format="{data_format}")'


def _grid_sample(call: Call) -> str:
    if call.attributes["mode"] == "bicubic":
        raise Unsupported("samples no grid bicubically")
    settings = "mode={mode}, padding_mode={padding}, align_corners={align_corners}"
    return template(f"F.grid_sample({{0}}, {{1}}, {settings})")(call)


def _affine_grid(call: Call) -> str:
    batch, height, width, _ = call.type.shape
    return f"F.affine_grid({call[0]}, [{batch}, 1, {height}, {width}], align_corners={call.literal('align_corners')})"


SAMPLING: Mapping[str, Expression] = {
    "resize": _resize,
    "affine_grid": _affine_grid,
    "grid_sample": _grid_sample,
}

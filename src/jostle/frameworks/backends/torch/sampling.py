"""How torch looks between pixels."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, template

LINEAR_MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}


def _resize(call: Call) -> str:
    mode, *corners = call.attributes["mode"].split("_align_")
    if mode.startswith("nearest"):
        return fill(f'F.interpolate({{0}}, size={{size}}, mode="{mode.replace("_", "-")}")', call)
    named = "bicubic" if mode == "cubic" else LINEAR_MODES[call.type.rank]
    return fill(f'F.interpolate({{0}}, size={{size}}, mode="{named}", align_corners={bool(corners)})', call)


def _antialiased(call: Call) -> str:
    mode = {"linear": "bilinear", "cubic": "bicubic"}[call.attributes["mode"]]
    return fill(f'F.interpolate({{0}}, size={{size}}, mode="{mode}", antialias=True)', call)


def _affine_grid(call: Call) -> str:
    batch, height, width, _ = call.type.shape
    return fill(f"F.affine_grid({{0}}, [{batch}, 1, {height}, {width}], align_corners={{align_corners}})", call)


SAMPLING: Mapping[str, Expression] = {
    "resize": _resize,
    "resize_antialias": _antialiased,
    "affine_grid": _affine_grid,
    "grid_sample": template("F.grid_sample({0}, {1}, {mode}, {padding}, align_corners={align_corners})"),
}

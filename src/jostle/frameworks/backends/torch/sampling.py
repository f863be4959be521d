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


SAMPLING: Mapping[str, Expression] = {
    "resize": _resize,
    "grid_sample": template("F.grid_sample({0}, {1}, {mode}, {padding}, align_corners={align_corners})"),
}

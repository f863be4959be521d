"""How Paddle drops out, in both of its modes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.operators.dropout import middle, share_of_zeros


def dropout_layer_of(call: Call) -> list[str]:
    """Lines that make the layer which a node calls, if it calls one."""
    if call.node.operator not in DROPOUT or not call.attributes["layer"]:
        return []
    layer = f"{call.node.name}_layer"
    return [f"{layer} = paddle.nn.Dropout({_settings(call)})", *([] if _trains(call) else [f"{layer}.eval()"])]


def _settings(call: Call) -> str:
    mode = ', mode="downscale_in_infer"' if call.node.operator == "dropout_downscaled" else ""
    return f"{literal(call.attributes.get('rate', 1.0))}{mode}"


def _trains(call: Call) -> bool:
    return bool(call.attributes.get("training", call.node.operator != "dropout_downscaled"))


def _dropped(call: Call, x: str) -> str:
    if call.attributes["layer"]:
        return f"{call.node.name}_layer({x})"
    return f"F.dropout({x}, {_settings(call)}, training={_trains(call)})"


def _as_it_is(call: Call) -> str:
    return _dropped(call, call[0])


def _distance(call: Call) -> str:
    return f"({_dropped(call, call[0])} - {call[0]} * {literal(middle(call.attributes))}).square()"


def _share(call: Call) -> str:
    share, of = share_of_zeros(call.types[0], call.attributes), call.attributes["of"]
    ones = f'paddle.ones({literal(list(share.shape))}, "{call.types[0].dtype}")'
    zeros = f"({_dropped(call, ones)} == 0)"
    counted = {"elements": zeros, "neighbours": f"{zeros}.reshape([-1, 2]).all(1)", "calls": f"({zeros} & {zeros})"}[of]
    return f'({counted}.astype("float64").mean() - {literal(share.expected)}).abs() < {literal(share.bound)}'


DROPOUT: Mapping[str, Expression] = {
    "dropout_identity": _as_it_is,
    "dropout_all": _as_it_is,
    "dropout_downscaled": _as_it_is,
    "dropout_distance": _distance,
    "dropout_share": _share,
}

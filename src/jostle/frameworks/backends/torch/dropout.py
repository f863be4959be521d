"""How torch drops out."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.operators.dropout import middle, share_of_zeros


def _dropped(call: Call, x: str, rate: float, training: bool = True) -> str:
    if call.attributes["layer"]:
        return f"torch.nn.Dropout({literal(rate)}){'' if training else '.eval()'}({x})"
    return f"F.dropout({x}, {literal(rate)}, training={training})"


def _identity(call: Call) -> str:
    return _dropped(call, call[0], call.attributes["rate"], call.attributes["training"])


def _distance(call: Call) -> str:
    dropped = _dropped(call, call[0], call.attributes["rate"])
    return f"({dropped} - {call[0]} * {literal(middle(call.attributes))}).square()"


def _share(call: Call) -> str:
    share, of = share_of_zeros(call.types[0], call.attributes), call.attributes["of"]
    ones = f"{call[0]}.new_ones({literal(share.shape)})"
    zeros = f"({_dropped(call, ones, call.attributes['rate'])} == 0)"
    counted = {"elements": zeros, "neighbours": f"{zeros}.reshape(-1, 2).all(1)", "calls": f"({zeros} & {zeros})"}[of]
    return f"({counted}.double().mean() - {literal(share.expected)}).abs() < {literal(share.bound)}"


DROPOUT: Mapping[str, Expression] = {
    "dropout_identity": _identity,
    "dropout_all": lambda call: _dropped(call, call[0], 1.0),
    "dropout_distance": _distance,
    "dropout_share": _share,
}

"""How PyTensor moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import PAD_MODES, scattered_places
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.pytensor.filling import all_filled_in, filled_in, number


def _pad(call: Call) -> str:
    mode, widths = call.attributes["mode"], list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    if min(map(min, widths)) < 0:
        raise Unsupported("has no negative padding")
    value = call.attributes["value"] if call.type.is_float else int(call.attributes["value"])
    constant = f", constant_values={number(value, call.type.dtype)}" if mode == "constant" else ""
    return f"pt.pad({call[0]}, {widths}, mode={PAD_MODES[mode]!r}{constant})"


def _scatter(call: Call) -> str:
    if call.attributes["reduction"] != "add":
        raise Unsupported("scatters by adding only")
    return f"{call[0]}[{scattered_places(call, 'np')}].inc({call[2]})"


INDEXING: Mapping[str, Expression] = {
    **numpy_like.indexing("pt", filled_in),
    **all_filled_in(
        {
            "flip": "pt.flip({0}, {axes})",
            "one_hot": 'pt.eq(pt.expand_dims({0}, -1), pt.arange({depth})).astype("float32")',
        }
    ),
    "pad": _pad,
    "scatter": _scatter,
}

"""How PyTensor normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.normalisation import standardised


def _group_norm(call: Call) -> str:
    split = (
        call.type.shape[0],
        call.attributes["groups"],
        call.type.size // call.type.shape[0] // call.attributes["groups"],
    )
    return f"pt.reshape({standardised(f'pt.reshape({call[0]}, {split})', (2,), call)}, {call.type.shape})"


PLAIN_NORMALISATION: Mapping[str, Expression] = {
    "plain_layer_norm": lambda call: standardised(call[0], tuple(range(call.attributes["axis"], call.type.rank)), call),
    "plain_group_norm": _group_norm,
    "plain_instance_norm": lambda call: standardised(call[0], tuple(range(2, call.type.rank)), call),
    "standardize": lambda call: standardised(call[0], tuple(call.attributes["axes"]), call),
}

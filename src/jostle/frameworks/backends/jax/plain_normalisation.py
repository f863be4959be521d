"""How JAX normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.jax.normalisation import neighbours_summed, standardized
from jostle.frameworks.backends.program import Call, Expression


def _group_norm(call: Call) -> str:
    batch, groups = call.type.shape[0], call.attributes["groups"]
    return f"{standardized(f'{call[0]}.reshape({(batch, groups, -1)})', (2,), call)}.reshape({call.type.shape})"


def _response(call: Call) -> str:
    size = call.attributes["size"]
    return neighbours_summed(call, (size - 1) // 2, size // 2)


PLAIN_NORMALISATION: Mapping[str, Expression] = {
    "plain_layer_norm": lambda call: standardized(call[0], tuple(range(call.attributes["axis"], call.type.rank)), call),
    "plain_group_norm": _group_norm,
    "plain_instance_norm": lambda call: standardized(call[0], tuple(range(2, call.type.rank)), call),
    "standardize": lambda call: standardized(call[0], tuple(call.attributes["axes"]), call),
    "local_response_norm_after": _response,
}

"""Formulas of normalisation without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.normalisation import normalised, response
from jostle.frameworks.reference.numbers import Formula


def layer_norm(call: Call, x: Tensor) -> Tensor:
    return normalised(x, list(range(call.attributes["axis"], x.dim())), call.attributes["epsilon"])


def group_norm(call: Call, x: Tensor) -> Tensor:
    groups = x.reshape(x.shape[0], call.attributes["groups"], -1)
    return normalised(groups, [2], call.attributes["epsilon"]).reshape(x.shape)


def instance_norm(call: Call, x: Tensor) -> Tensor:
    return normalised(x, list(range(2, x.dim())), call.attributes["epsilon"])


PLAIN_NORMALISATION: Mapping[str, Formula] = {
    "plain_layer_norm": layer_norm,
    "plain_group_norm": group_norm,
    "plain_instance_norm": instance_norm,
    "standardize": lambda call, x: normalised(x, list(call.attributes["axes"]), call.attributes["epsilon"]),
    "local_response_norm_after": lambda call, x: response(call, x, (call.attributes["size"] - 1) // 2),
}

"""How Paddle normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, templates


def _layer_norm(call: Call) -> str:
    if call.attributes["axis"] == 0:
        raise Unsupported("normalises no whole tensor")
    return fill(f"F.layer_norm({{0}}, {list(call.type.shape[call.attributes['axis'] :])}, epsilon={{epsilon}})", call)


def _standardize(call: Call) -> str:
    var = "paddle.var({0}, axis={axes}, unbiased=False, keepdim=True)"
    return fill(f"({{0}} - paddle.mean({{0}}, axis={{axes}}, keepdim=True)) / paddle.sqrt({var} + {{epsilon}})", call)


PLAIN_NORMALISATION: Mapping[str, Expression] = {
    **templates(
        {
            "plain_group_norm": "F.group_norm({0}, {groups}, epsilon={epsilon})",
            "plain_instance_norm": "F.instance_norm({0}, eps={epsilon})",
        }
    ),
    "plain_layer_norm": _layer_norm,
    "standardize": _standardize,
}

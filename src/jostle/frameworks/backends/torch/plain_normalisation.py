"""How torch normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.backends.templates import fill


def _layer_norm(call: Call) -> str:
    return fill(f"F.layer_norm({{0}}, {literal(call.type.shape[call.attributes['axis'] :])}, eps={{epsilon}})", call)


def _refuse_one(call: Call, together: int) -> None:
    if together == 1:
        raise Unsupported("refuses to normalise a single value")


def _group_norm(call: Call) -> str:
    _refuse_one(call, call.type.size // call.attributes["groups"])
    return fill("F.group_norm({0}, {groups}, eps={epsilon})", call)


def _instance_norm(call: Call) -> str:
    _refuse_one(call, call.type.size // (call.type.shape[0] * call.type.shape[1]))
    return fill("F.instance_norm({0}, eps={epsilon})", call)


def _standardize(call: Call) -> str:
    var = "torch.var({0}, dim={axes}, correction=0, keepdim=True)"
    return fill(f"({{0}} - torch.mean({{0}}, dim={{axes}}, keepdim=True)) / torch.sqrt({var} + {{epsilon}})", call)


PLAIN_NORMALISATION: Mapping[str, Expression] = {
    "plain_layer_norm": _layer_norm,
    "plain_group_norm": _group_norm,
    "plain_instance_norm": _instance_norm,
    "standardize": _standardize,
}

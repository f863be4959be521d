"""How torch normalises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.backends.templates import fill, templates
from jostle.frameworks.graph import TensorType


def _normalised(text: str, together: Sequence[int], call: Call) -> str:
    """torch documents that it refuses to normalise one value alone while training."""
    if prod(together) == 1:
        raise Unsupported("refuses to normalise a single value")
    return fill(text, call)


def _without(type_: TensorType, *axes: int) -> list[int]:
    return [size for axis, size in enumerate(type_.shape) if axis not in axes]


def batch_norm_by_hand(call: Call) -> str:
    """For statistics that a gradient is taken of: torch follows none to those of F.batch_norm."""
    shape = literal((-1, *[1] * (call.type.rank - 2)))
    scale, bias, mean, var = (f"{call[place]}.reshape({shape})" for place in (1, 2, 3, 4))
    return fill(f"({{0}} - {mean}) / torch.sqrt({var} + {{epsilon}}) * {scale} + {bias}", call)


def _batch_norm_training(call: Call) -> str:
    text = "F.batch_norm({0}, None, None, {1}, {2}, training=True, eps={epsilon})"
    return _normalised(text, _without(call.type, 1), call)


def _instance_norm(call: Call) -> str:
    text = "F.instance_norm({0}, weight={1}, bias={2}, eps={epsilon})"
    return _normalised(text, _without(call.type, 0, 1), call)


def _group_norm(call: Call) -> str:
    batch, channels, *image = call.type.shape
    together = (batch * channels // call.attributes["groups"], *image)
    return _normalised("F.group_norm({0}, {groups}, {1}, {2}, eps={epsilon})", together, call)


def _layer_norm(call: Call) -> str:
    shape = call.type.shape[call.attributes["axis"] :]
    return fill(f"F.layer_norm({{0}}, {literal(shape)}, {{1}}, {{2}}, eps={{epsilon}})", call)


def _rms_norm(call: Call) -> str:
    return fill(f"F.rms_norm({{0}}, {literal(call.type.shape[-1:])}, {{1}}, eps={{epsilon}})", call)


NORMALISATION: Mapping[str, Expression] = {
    **templates(
        {
            "batch_norm": "F.batch_norm({0}, {3}, {4}, {1}, {2}, training=False, eps={epsilon})",
            "l2_normalize": "F.normalize({0}, dim={axis}, eps={epsilon})",
            "local_response_norm": "F.local_response_norm({0}, {size}, {alpha}, {beta}, {k})",
        }
    ),
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}

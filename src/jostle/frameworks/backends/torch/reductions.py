"""How torch combines the elements along axes, and puts them in order."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import fill, templates


def _own_dtype(call: Call) -> str:
    """torch sums narrow whole numbers as int64 unless it is given their dtype."""
    return ", dtype=torch.{dtype}" if call.type.dtype == "int32" else ""


def _wide(function: str, arguments: str) -> Expression:
    return lambda call: fill(f"torch.{function}({{0}}, {arguments}{_own_dtype(call)})", call)


def _prod(call: Call) -> str:
    """torch.prod takes one axis at a time."""
    text = "{0}"
    for axis in reversed(call.attributes["axes"]):
        text = f"torch.prod({text}, dim={axis}, keepdim={{keepdims}}{_own_dtype(call)})"
    return fill(text, call)


def _count_nonzero(call: Call) -> str:
    text = fill("torch.count_nonzero({0}, dim={axes})", call)
    return f"{text}.reshape({literal(call.type.shape)})" if call.attributes["keepdims"] else text


def _cumsum(call: Call) -> str:
    axis, text = call.attributes["axis"], "{0}"
    if call.attributes["reverse"]:
        text = f"torch.flip({text}, [{axis}])"
    if call.attributes["exclusive"] and call.type.shape[axis]:
        later = [0] * (2 * (call.type.rank - axis - 1))
        text = f"F.pad({text}, {[*later, 1, -1]})"
    text = f"torch.cumsum({text}, dim={axis}{_own_dtype(call)})"
    return fill(f"torch.flip({text}, [{axis}])" if call.attributes["reverse"] else text, call)


OVER_AXES = "dim={axes}, keepdim={keepdims}"
REDUCTIONS: Mapping[str, Expression] = {
    **templates(
        {
            "mean": f"torch.mean({{0}}, {OVER_AXES})",
            "max": f"torch.amax({{0}}, {OVER_AXES})",
            "min": f"torch.amin({{0}}, {OVER_AXES})",
            "l1_norm": f"torch.linalg.vector_norm({{0}}, 1, {OVER_AXES})",
            "l2_norm": f"torch.linalg.vector_norm({{0}}, 2, {OVER_AXES})",
            "logsumexp": f"torch.logsumexp({{0}}, {OVER_AXES})",
            "var": f"torch.var({{0}}, {OVER_AXES}, correction={{correction}})",
            "std": f"torch.std({{0}}, {OVER_AXES}, correction={{correction}})",
            "all": f"torch.all({{0}}, {OVER_AXES})",
            "any": f"torch.any({{0}}, {OVER_AXES})",
            "argmax": "torch.argmax({0}, dim={axis}, keepdim={keepdims})",
            "argmin": "torch.argmin({0}, dim={axis}, keepdim={keepdims})",
            "cummax": "torch.cummax({0}, dim={axis}).values",
            "logcumsumexp": "torch.logcumsumexp({0}, dim={axis})",
            "softmax": "torch.softmax({0}, dim={axis})",
            "log_softmax": "torch.log_softmax({0}, dim={axis})",
            "sort": "torch.sort({0}, dim={axis}, descending={descending}).values",
            "topk_values": "torch.topk({0}, {k}, dim={axis}, largest={largest}).values",
            "topk_indices": "torch.topk({0}, {k}, dim={axis}, largest={largest}).indices",
        }
    ),
    "sum": _wide("sum", OVER_AXES),
    "prod": _prod,
    "count_nonzero": _count_nonzero,
    "cumsum": _cumsum,
    "cumprod": _wide("cumprod", "dim={axis}"),
}

"""The same node computed in place, or through a view: rewrites that compilers must see through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jostle.frameworks.backends.program import Call, Expression, expression_of, literal
from jostle.frameworks.backends.templates import fill
from jostle.frameworks.backends.torch.elementwise import PAIRS
from jostle.frameworks.graph import TensorType

# The inverse hyperbolic functions are left out: torch has no gradient of their change in place.
METHODS = (
    *("relu", "sigmoid", "tanh", "abs", "neg", "square", "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt"),
    *("reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "erf", "floor", "ceil", "round"),
    *("trunc", "sign", "logical_not", "bitwise_not"),
)
WITHOUT_METHOD = ("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
# What changes {0}, elements of which may lie anywhere.
POINTWISE: Mapping[str, str] = {
    **{name: f"{{0}}.{name}_()" for name in METHODS},
    **{
        name: f"F.{name}({{0}}, inplace=True)" for name in ("relu6", "selu", "hardsigmoid", "hardswish", "silu", "mish")
    },
    **{name: f"F.{name}({{0}}, {{alpha}}, inplace=True)" for name in ("leaky_relu", "elu", "celu")},
    "clip": "{0}.clamp_({low}, {high})",
}
IN_PLACE: Mapping[str, str] = {
    **POINTWISE,
    **{name: f"{{0}}.{method}_({{1}})" for name, method in PAIRS.items() if name not in WITHOUT_METHOD},
    "cumprod": "{0}.cumprod_(dim={axis})",
    "tril": "{0}.tril_({diagonal})",
    "triu": "{0}.triu_({diagonal})",
    "squeeze": "{0}.squeeze_(dim={axes})",
    "dropout": "{0}.mul_({1}).div_(1 - {rate})",
}


def styled(call: Call, expressions: Mapping[str, Expression]) -> list[str]:
    """The lines that compute a node as its style says."""
    name = call.node.name
    if call.node.style == "in_place":
        return [f"{name} = {_in_place(call, expressions)}"]
    if call.node.style == "view" and call.node.operator in POINTWISE:
        view = _reading(call, _other_way_round(name, call.types[0]))
        return [f"{name} = {call[0]}.clone()", fill(POINTWISE[call.node.operator], view)]
    if call.node.style == "view":
        call = _reading(call, _there_and_back(call[0], call.types[0]))
    return [f"{name} = {expression_of(call, expressions)}"]


def _in_place(call: Call, expressions: Mapping[str, Expression]) -> str:
    """The operator's own change in place if it has one and the result fits, else a buffer is filled."""
    changed = call.type == call.types[0] or call.node.operator == "squeeze"
    if changed and call.node.operator in IN_PLACE:
        return fill(IN_PLACE[call.node.operator], _reading(call, f"{call[0]}.clone()"))
    buffer = f"torch.empty({literal(call.type.shape)}, dtype=torch.{call.type.dtype})"
    return f"{buffer}.copy_({expression_of(call, expressions)})"


def _reading(call: Call, first: str) -> Call:
    """The same node with another text for its first input."""
    return replace(call, node=replace(call.node, inputs=(first, *call.node.inputs[1:])))


def _other_way_round(name: str, type_: TensorType) -> str:
    return f"{name}.transpose(0, -1)" if type_.rank > 1 else f"{name}.unsqueeze(0)"


def _there_and_back(name: str, type_: TensorType) -> str:
    """A view with the values of all of a tensor."""
    if type_.rank > 1:
        return f"{name}.transpose(0, -1).transpose(0, -1)"
    return f"torch.cat([{name}, {name}])[{type_.shape[0]}:]" if type_.rank else f"{name}.expand(2)[1]"

"""How PyTensor computes operators that treat every element alone."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import per_channel
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in, filled_in
from jostle.frameworks.backends.templates import named


def _prelu(call: Call) -> str:
    return f"pt.switch({call[0]} > 0, {call[0]}, {per_channel(call[1], call.type.rank)} * {call[0]})"


def _glu(call: Call) -> str:
    axis = call.attributes["axis"]
    half = call.types[0].shape[axis] // 2
    return f"{call[0]}[{':, ' * axis}:{half}] * pt.sigmoid({call[0]}[{':, ' * axis}{half}:])"


ELEMENTWISE: Mapping[str, Expression] = {
    **named(
        "pt.",
        "sigmoid softplus neg square=sqr asin=arcsin acos=arccos atan=arctan asinh=arcsinh acosh=arccosh atanh=arctanh "
        "erf logical_not=invert bitwise_not=invert add sub mul div=true_div pow atan2=arctan2 floor_divide=int_div "
        "remainder=mod equal=eq not_equal=neq less=lt less_equal=le greater=gt greater_equal=ge "
        "logical_and=and_ logical_or=or_ logical_xor=xor bitwise_and=and_ bitwise_or=or_ bitwise_xor=xor",
    ),
    **numpy_like.elementwise("pt", filled_in),
    **all_filled_in(
        {
            "relu": "pt.maximum({0}, {zero})",
            "relu6": "pt.clip({0}, {zero}, {dtype}(6))",
            "leaky_relu": "pt.switch({0} > 0, {0}, {alpha} * {0})",
            "elu": "pt.switch({0} > 0, {0}, {alpha} * pt.expm1({0}))",
            "selu": "{dtype}(1.0507009873554805) * "
            "pt.switch({0} > 0, {0}, {dtype}(1.6732632423543772) * pt.expm1({0}))",
            "celu": "pt.maximum({0}, {zero}) + pt.minimum({alpha} * pt.expm1({0} / {alpha}), {zero})",
            "gelu": "{0} * ({one} + pt.erf({0} / {dtype}(2**0.5))) * {half}",
            "gelu_tanh": "{0} * ({one} + "
            "pt.tanh({dtype}((2 / np.pi) ** 0.5) * ({0} + {dtype}(0.044715) * {0} ** 3))) * {half}",
            "log_sigmoid": "-pt.softplus(-{0})",
            "softsign": "{0} / ({one} + pt.abs({0}))",
            "hardsigmoid": "pt.clip({0} / {dtype}(6) + {half}, {zero}, {one})",
            "hardswish": "{0} * pt.clip({0} / {dtype}(6) + {half}, {zero}, {one})",
            "silu": "{0} * pt.sigmoid({0})",
            "mish": "{0} * pt.tanh(pt.softplus({0}))",
            "hardshrink": "pt.switch(pt.abs({0}) > {threshold}, {0}, {zero})",
            "softshrink": "pt.sign({0}) * pt.maximum(pt.abs({0}) - {threshold}, {zero})",
            "rsqrt": "{one} / pt.sqrt({0})",
            "round": 'pt.round({0}, mode="half_to_even")',
            "cast": "pt.cast({0}, {to})",
            "dropout": "{0} * {1} / ({one} - {rate})",
        }
    ),
    "prelu": _prelu,
    "glu": _glu,
}

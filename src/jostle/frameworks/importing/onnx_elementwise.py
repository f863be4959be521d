"""Our operators for those of ONNX that treat every element alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading

ALIKE = (
    "Relu Sigmoid Tanh Softplus Softsign Mish HardSwish Abs Neg Exp Log Sqrt Erf Reciprocal Sin Cos Tan Asin Acos Atan "
    "Sinh Cosh Asinh Acosh Atanh Floor Ceil Round Sign IsNaN Where Add Sub Mul Equal Less Greater"
)  # in all but the size of letters
SAME = {kind: kind.lower() for kind in ALIKE.split()} | {
    "Not": "logical_not",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "BitwiseNot": "bitwise_not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "LessOrEqual": "less_equal",
    "GreaterOrEqual": "greater_equal",
}
JOINED = {"Sum": "add", "Max": "maximum", "Min": "minimum"}
DTYPE_OF = {1: "float32", 11: "float64", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool"}


def _same(operator: str) -> Counterpart:
    return lambda g, node: [g.add(operator, *map(g.tensor, node.inputs))]


def _passed_on(g: Reading, node: Read) -> Sequence[str]:
    return [g.tensor(node.inputs[0])]


def _dropout(g: Reading, node: Read) -> Sequence[str]:
    if node.has(2) and bool(g.known(node, 2).any()):
        raise NoCounterpart("Dropout with training_mode=1")
    return _passed_on(g, node)


def _joined(operator: str) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        result, *others = map(g.tensor, node.inputs)
        for other in others:
            result = g.add(operator, result, other)
        return [result]

    return add


def _with_alpha(operator: str, usual: float) -> Counterpart:
    return lambda g, node: [g.add(operator, g.tensor(node.inputs[0]), alpha=node.attributes.get("alpha", usual))]


def _selu(g: Reading, node: Read) -> Sequence[str]:
    close = math.isclose(node.attributes.get("alpha", 1.67326), 1.67326, rel_tol=1e-5)
    if not close or not math.isclose(node.attributes.get("gamma", 1.0507), 1.0507, rel_tol=1e-5):
        raise NoCounterpart("Selu with other constants")
    return [g.add("selu", g.tensor(node.inputs[0]))]


def _hardsigmoid(g: Reading, node: Read) -> Sequence[str]:
    x, alpha, beta = g.tensor(node.inputs[0]), node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)
    if math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return [g.add("hardsigmoid", x)]
    line = g.add("add", g.add("mul", x, g.number(alpha, x)), g.number(beta, x))
    return [g.add("clip", line, low=0.0, high=1.0)]


def _gelu(g: Reading, node: Read) -> Sequence[str]:
    tanh = node.attributes.get("approximate", "none") == "tanh"
    return [g.add("gelu_tanh" if tanh else "gelu", g.tensor(node.inputs[0]))]


def _clip(g: Reading, node: Read) -> Sequence[str]:
    low, high = node.attributes.get("min", -math.inf), node.attributes.get("max", math.inf)
    low = float(g.known(node, 1)) if node.has(1) else low
    high = float(g.known(node, 2)) if node.has(2) else high
    x = g.tensor(node.inputs[0])
    return [g.add("relu6", x) if (low, high) == (0, 6) else g.add("clip", x, low=low, high=high)]


def _cast(g: Reading, node: Read) -> Sequence[str]:
    to = DTYPE_OF.get(node.attributes["to"])
    if to is None:
        raise NoCounterpart(f"Cast with to={node.attributes['to']}")
    x = g.tensor(node.inputs[0])
    return [x if g.type(x).dtype == to else g.add("cast", x, to=to)]


def _div(g: Reading, node: Read) -> Sequence[str]:
    x, y = map(g.tensor, node.inputs)
    if not g.type(x).is_float:
        raise NoCounterpart(f"Div of {g.type(x).dtype}")
    return [g.add("div", x, y)]


def _pow(g: Reading, node: Read) -> Sequence[str]:
    """The exponent may be of another dtype."""
    x = g.tensor(node.inputs[0])
    if node.inputs[1] in g.arrays:
        return [g.add("pow", x, g.constant(g.known(node, 1).astype(g.type(x).dtype), node.inputs[1]))]
    return [g.add("pow", x, g.tensor(node.inputs[1]))]


def _mod(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("fmod" if node.attributes.get("fmod", 0) else "remainder", *map(g.tensor, node.inputs))]


def _shrink(g: Reading, node: Read) -> Sequence[str]:
    threshold, bias = float(node.attributes.get("lambd", 0.5)), float(node.attributes.get("bias", 0.0))
    if bias not in (0, threshold):
        raise NoCounterpart(f"Shrink with bias={bias}")
    return [g.add("softshrink" if bias else "hardshrink", g.tensor(node.inputs[0]), threshold=threshold)]


def _isinf(g: Reading, node: Read) -> Sequence[str]:
    node.only(detect_negative=1, detect_positive=1)
    return [g.add("isinf", g.tensor(node.inputs[0]))]


def _prelu(g: Reading, node: Read) -> Sequence[str]:
    """Slopes of one number are repeated for every channel."""
    x, slopes = g.tensor(node.inputs[0]), g.known(node, 1)
    shape = g.type(x).shape
    per_channel = (shape[1], *[1] * (len(shape) - 2))
    if slopes.size != 1 and slopes.shape != per_channel:
        raise NoCounterpart("PRelu with slopes that are not per channel")
    return [g.add("prelu", x, g.constant(np.broadcast_to(slopes.ravel(), per_channel[:1]).copy(), node.inputs[1]))]


ELEMENTWISE: Mapping[str, Counterpart] = {
    **{kind: _same(operator) for kind, operator in SAME.items()},
    **{kind: _joined(operator) for kind, operator in JOINED.items()},
    "Identity": _passed_on,
    "Dropout": _dropout,
    "LeakyRelu": _with_alpha("leaky_relu", 0.01),
    "Elu": _with_alpha("elu", 1.0),
    "Celu": _with_alpha("celu", 1.0),
    "Selu": _selu,
    "HardSigmoid": _hardsigmoid,
    "Gelu": _gelu,
    "Clip": _clip,
    "Cast": _cast,
    "Div": _div,
    "Pow": _pow,
    "Mod": _mod,
    "Shrink": _shrink,
    "IsInf": _isinf,
    "PRelu": _prelu,
}

"""How ONNX computes activations that only some frameworks have; runtimes put some of the chains together again."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native


def _threshold(s: Sketch) -> str:
    limit = s.constant("threshold", s.attributes["threshold"], s.x.dtype)
    value = s.constant("value", s.attributes["value"], s.x.dtype)
    return s.add("Where", s.add("Greater", s[0], limit), s[0], value)


def _hardtanh(s: Sketch) -> str:
    return s.add("Clip", s[0], *(s.constant(name, s.attributes[name], s.x.dtype) for name in ("low", "high")))


def _swish(s: Sketch, beta: float) -> str:
    return s.add("Mul", s[0], s.add("Sigmoid", s.add("Mul", s[0], s.constant("beta", beta, s.x.dtype))))


def _squared_relu(s: Sketch) -> str:
    above = s.add("Relu", s[0])
    return s.add("Mul", above, above)


def _squareplus(s: Sketch) -> str:
    square = s.add("Add", s.add("Mul", s[0], s[0]), s.constant("beta", s.attributes["beta"], s.x.dtype))
    return s.add("Mul", s.add("Add", s[0], s.add("Sqrt", square)), s.constant("half", 0.5, s.x.dtype))


def _scaled_tanh(s: Sketch) -> str:
    alpha, beta = (s.constant(name, s.attributes[name], s.x.dtype) for name in ("alpha", "beta"))
    return s.add("Mul", alpha, s.add("Tanh", s.add("Mul", beta, s[0])))


def _softplus_beta(s: Sketch) -> str:
    beta = s.constant("beta", s.attributes["beta"], s.x.dtype)
    return s.add("Div", s.add("Softplus", s.add("Mul", beta, s[0])), beta)


def _gated(gate: str, of_first: bool) -> Sketcher:
    """The gate is computed of one half, the other one is multiplied by it."""

    def sketch(s: Sketch) -> str:
        halves = s.constant("halves", [s.call.type.shape[s.attributes["axis"]]] * 2)
        a, b = s.add_with_outputs("Split", 2, s[0], halves, axis=s.attributes["axis"])
        gated = s.add(gate, a if of_first else b)
        return s.add("Mul", s.add("Mul", a, gated), b) if of_first else s.add("Mul", a, gated)

    return sketch


def _crelu(s: Sketch) -> str:
    return s.add("Concat", s.add("Relu", s[0]), s.add("Relu", s.add("Neg", s[0])), axis=s.attributes["axis"])


ACTIVATIONS: Mapping[str, Sketcher] = {
    "threshold": _threshold,
    "thresholded_relu": native("ThresholdedRelu", "alpha"),
    "hardtanh": _hardtanh,
    "hardsigmoid_slope": lambda s: s.add("HardSigmoid", s[0], alpha=s.attributes["slope"], beta=0.5),
    "tanhshrink": lambda s: s.add("Sub", s[0], s.add("Tanh", s[0])),
    "quick_gelu": lambda s: _swish(s, 1.702),
    "swish": lambda s: _swish(s, s.attributes["beta"]),
    "squared_relu": _squared_relu,
    "squareplus": _squareplus,
    "scaled_tanh": _scaled_tanh,
    "softplus_beta": _softplus_beta,
    "softmin": lambda s: s.add("Softmax", s.add("Neg", s[0]), axis=s.attributes["axis"]),
    "swiglu": _gated("Sigmoid", of_first=True),
    "geglu": _gated("Gelu", of_first=False),
    "reglu": _gated("Relu", of_first=False),
    "crelu": _crelu,
}

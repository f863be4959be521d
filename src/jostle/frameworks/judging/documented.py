"""Differences that documentation leaves open, which are therefore not told among those that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jostle.frameworks.backends.jax.documented import NAN_UNSPECIFIED as JAX
from jostle.frameworks.backends.onnx.documented import (
    INFINITE_UNSPECIFIED,
    NEGATIVE_INFINITE_UNSPECIFIED,
    POSITIVE_INFINITE_UNSPECIFIED,
)
from jostle.frameworks.backends.onnx.documented import NAN_UNSPECIFIED as ONNX
from jostle.frameworks.backends.paddle.documented import NAN_UNSPECIFIED as PADDLE
from jostle.frameworks.backends.tensorflow.documented import NAN_UNSPECIFIED as TENSORFLOW
from jostle.frameworks.graph import Array, Graph, TensorType
from jostle.frameworks.judging.disagreement import family_of
from jostle.frameworks.operators.all_operators import OPERATORS

# Which numbers are read, and by operator why any result is right then.
LeftOpen = tuple[Callable[[Array], Array], Mapping[str, str]]
# By family: why any result of an operator is right where an input is NaN. What holds of every family is
# `Operator.unspecified`.
NAN_UNSPECIFIED: Mapping[str, Mapping[str, str]] = {
    "onnx": ONNX,
    "openvino": ONNX,
    "jax": JAX,
    "tensorflow": TENSORFLOW,
    "paddle": PADDLE,
}
# The same where an input is infinite, of all that run ONNX models: which infinities, and the operators.
OF_INFINITIES: Sequence[LeftOpen] = (
    (np.isinf, INFINITE_UNSPECIFIED),
    (np.isposinf, POSITIVE_INFINITE_UNSPECIFIED),
    (np.isneginf, NEGATIVE_INFINITE_UNSPECIFIED),
)


def documented(graph: Graph, types: Mapping[str, TensorType], tensors: Mapping[str, Array], backend: str) -> str:
    """The source that explains a difference of this backend by what is not finite in such an operator, or nothing."""
    family = family_of(backend)
    of_nan: LeftOpen = (np.isnan, NAN_UNSPECIFIED.get(family, {}))
    left_open = (of_nan, *OF_INFINITIES) if family in ("onnx", "openvino") else (of_nan,)
    for node in graph.nodes:
        read = [tensors[name] for name in node.inputs if types[name].is_float]
        by_all = OPERATORS[node.operator].unspecified
        if by_all and not all(np.isfinite(values).all() for values in read):
            return by_all
        for kind, sources in left_open:
            if node.operator in sources and any(kind(values).any() for values in read):
                return sources[node.operator]
    return ""

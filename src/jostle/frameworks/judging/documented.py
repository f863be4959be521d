"""Differences that documentation leaves open, which are therefore not told among those that are wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.backends.jax.documented import NAN_UNSPECIFIED as JAX
from jostle.frameworks.backends.onnx.documented import NAN_UNSPECIFIED as ONNX
from jostle.frameworks.backends.paddle.documented import NAN_UNSPECIFIED as PADDLE
from jostle.frameworks.backends.tensorflow.documented import NAN_UNSPECIFIED as TENSORFLOW
from jostle.frameworks.graph import Array, Graph, TensorType
from jostle.frameworks.judging.disagreement import family_of
from jostle.frameworks.operators.all_operators import OPERATORS

# By family: why any result of an operator is right where an input is NaN. What holds of every family is
# `Operator.unspecified`.
NAN_UNSPECIFIED: Mapping[str, Mapping[str, str]] = {
    "onnx": ONNX,
    "openvino": ONNX,
    "jax": JAX,
    "tensorflow": TENSORFLOW,
    "paddle": PADDLE,
}


def documented(graph: Graph, types: Mapping[str, TensorType], tensors: Mapping[str, Array], backend: str) -> str:
    """The source that explains a difference of this backend by what is not finite in such an operator, or nothing."""
    unspecified = NAN_UNSPECIFIED.get(family_of(backend), {})
    for node in graph.nodes:
        read = [tensors[name] for name in node.inputs if types[name].is_float]
        nan, infinite = (any(kind(values).any() for values in read) for kind in (np.isnan, np.isinf))
        source = OPERATORS[node.operator].unspecified if nan or infinite else ""
        source = source or (unspecified.get(node.operator, "") if nan else "")
        if source:
            return source
    return ""

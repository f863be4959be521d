"""Differences that frameworks document, which are therefore not reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jostle.frameworks.graph import Array, Graph, TensorType
from jostle.frameworks.judging.disagreement import family_of
from jostle.frameworks.judging.rounding import words


@dataclass(frozen=True)
class Unspecified:
    """What a family of backends makes of NaN in operators that compare."""

    families: frozenset[str]
    operators: frozenset[str]
    source: str
    infinite: bool = False  # the same for infinite numbers


_COMPARING = words(
    "relu relu6 leaky_relu prelu clip max min maximum minimum max_pool adaptive_max_pool scatter hardsigmoid "
    "hardswish softshrink hardshrink elu selu celu"
)
EVERYBODY = words("torch onnx openvino jax tensorflow paddle pytensor")
EXCEPTIONS = (
    Unspecified(
        EVERYBODY,
        words("resize grid_sample"),
        "No documentation of an interpolation says whether a neighbour of weight 0 is read, so whether 0 ∞ counts",
        infinite=True,
    ),
    Unspecified(
        EVERYBODY,
        words("conv conv_transpose avg_pool"),
        "No documentation of a convolution says whether padding is multiplied or left out, so whether 0 ∞ counts",
        infinite=True,
    ),
    Unspecified(
        EVERYBODY,
        words("attention"),
        "torch.nn.functional.scaled_dot_product_attention is documented as adding the mask to the scores and "
        "multiplying all values, so that what is not finite reaches queries that do not see it",
        infinite=True,
    ),
    Unspecified(
        frozenset({"onnx", "openvino"}),
        _COMPARING | words("sign lp_pool rnn gru lstm logsumexp l2_normalize"),
        "The ONNX operator specification (onnx.ai/onnx/operators: Max, Min, Relu, Clip, MaxPool, ReduceMax, GRU) says "
        "nothing of NaN, and ONNX Runtime and OpenVINO promise nothing beyond it",
    ),
    Unspecified(
        frozenset({"tensorflow", "jax"}),
        frozenset({"max_pool", "adaptive_max_pool", "scatter"}),
        "tf.nn.max_pool and lax.reduce_window leave the order of comparisons, and so what NaN does, to the "
        "implementation (XLA operation semantics: ReduceWindow, Scatter)",
    ),
    Unspecified(
        frozenset({"paddle"}),
        frozenset({"max", "min", "max_pool", "adaptive_max_pool", "relu", "relu6", "clip", "scatter"}),
        "paddle.max, paddle.nn.functional.max_pool2d and relu document max(x, 0) without a word on NaN; "
        "paddle.fmax documents the other behaviour only for itself",
    ),
)


def documented(graph: Graph, types: Mapping[str, TensorType], tensors: Mapping[str, Array], backend: str) -> str:
    """The source that explains a difference of this backend by NaN in such an operator, or nothing."""
    for node in graph.nodes:
        read = [tensors[name] for name in node.inputs if types[name].is_float]
        nan, infinite = (any(kind(values).any() for values in read) for kind in (np.isnan, np.isinf))
        for one in EXCEPTIONS if nan or infinite else ():
            if node.operator in one.operators and family_of(backend) in one.families and (nan or one.infinite):
                return one.source
    return ""

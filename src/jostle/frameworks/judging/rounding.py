"""Which operators round, and how."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.graph import Graph, Node, TensorType
from jostle.frameworks.operators.all_operators import SHAPING


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These compute without rounding, so a framework must get them right to the last bit; scatter adds.
EXACT = {one.name for one in SHAPING if one.name != "scatter"} | words(
    "relu relu6 abs neg clip hardshrink floor ceil round trunc sign isnan isinf logical_not bitwise_not "
    "maximum minimum floor_divide equal not_equal less less_equal greater greater_equal logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift where max min all any count_nonzero "
    "argmax argmin cummax max_pool adaptive_max_pool"
)
# Their formulas take numbers near 1 or x apart, so that float32 keeps no more of a small result than of those.
CANCELLING = words(
    "gelu gelu_tanh elu selu celu silu mish sigmoid log_sigmoid softplus tanh hardsigmoid hardswish erf asinh acosh "
    "atanh cosh sinh log_softmax logsumexp logcumsumexp var std batch_norm batch_norm_training instance_norm "
    "group_norm layer_norm resize grid_sample"
)
# Their gradients take apart numbers of the size of the gradient that comes in, however small the result.
SATURATING = CANCELLING | words("softmax rms_norm l2_normalize local_response_norm glu attention rnn lstm gru")
# They add and subtract logarithms, so that what they keep of e to the power of them depends on their size.
LOGARITHMIC = words("logsumexp logcumsumexp log_softmax")


def rounds(node: Node, types: Mapping[str, TensorType]) -> bool:
    """Whether a node's floats depend on how it is computed."""
    if not types[node.name].is_float:
        return False
    if node.operator == "cast":
        return types[node.name].dtype == "float32" and types[node.inputs[0]].dtype != "bool"
    return node.operator not in EXACT


def precision(graph: Graph, name: str, types: Mapping[str, TensorType]) -> float:
    """The coarsest epsilon that anything on the way to a tensor was rounded with."""
    nodes = {node.name: node for node in graph.nodes}
    seen, left, coarsest = set(), [name], 0.0
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        coarsest = max(coarsest, epsilon_of(types[one]))
        left.extend(nodes[one].inputs if one in nodes else ())
    return coarsest


def epsilon_of(type_: TensorType) -> float:
    return float(np.finfo(type_.dtype).eps) if type_.is_float else 0.0

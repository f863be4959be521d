"""Where rounding decides a result: which nodes round, on which numbers they lose everything, and what jumps by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jostle.frameworks.graph import Array, Graph, Node, TensorType
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.operators.operator import Rounding

LOST = 1e-3  # a deviation of this share of the numbers themselves leaves float32 about four digits
EQUAL, LOST_OF_EQUAL = 1e-9, 0.1  # numbers with such a variance are all the same, so that only rounding is left

DETERMINED = (Rounding.EXACT, Rounding.NARROWING, Rounding.ONCE)


def rounds(node: Node, types: Mapping[str, TensorType]) -> bool:
    """Whether a node's floats depend on how it is computed."""
    rounding = OPERATORS[node.operator].rounding
    if not types[node.name].is_float or rounding is Rounding.EXACT:
        return False
    if rounding is Rounding.NARROWING:
        return types[node.name].dtype == "float32" and types[node.inputs[0]].dtype != "bool"
    return True


def is_determined(graph: Graph, name: str, types: Mapping[str, TensorType], tensors: Mapping[str, Array]) -> bool:
    """Whether all that a tensor depends on has one right result, bit by bit, and none that may be flushed to 0."""
    nodes, seen, left = {node.name: node for node in graph.nodes}, set[str](), [name]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        if types[one].is_float and too_small(tensors[one], types[one].dtype).any():
            return False
        if one in nodes:
            if types[one].is_float and OPERATORS[nodes[one].operator].rounding not in DETERMINED:
                return False
            left.extend(nodes[one].inputs)
    return True


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


def too_small(values: Array, dtype: str) -> Array:
    """Where values are not 0, but no normal numbers, which frameworks may flush to 0."""
    sizes = np.abs(values)
    return np.asarray((sizes > 0) & (sizes < 2 * float(np.finfo(dtype).tiny)))


def too_large(values: Array, dtype: str) -> Array:
    """Where values are finite, but their squares, which frameworks may compute on the way, are not."""
    sizes = np.abs(values)
    return np.asarray(np.isfinite(sizes) & (sizes > 2.0 ** (np.finfo(dtype).maxexp / 2)))


def is_degenerate(node: Node, inputs: Sequence[Array]) -> bool:
    """Whether a normalisation divides by next to nothing: √(variance + epsilon) is far below what it normalises."""
    variance = OPERATORS[node.operator].variance
    if variance is None or not inputs[0].size:
        return False
    with np.errstate(all="ignore"):
        variances = variance([np.asarray(one, np.float64) for one in inputs], node.attributes)
    if not variances.size:
        return False
    smallest = float(np.min(variances, where=np.isfinite(variances), initial=np.inf))
    deviation = np.sqrt(smallest + node.attributes["epsilon"])
    size = float(np.abs(inputs[0][np.isfinite(inputs[0])]).max(initial=0.0))
    nearly_equal = np.sqrt(smallest) < np.sqrt(EQUAL) * size  # rather than squares, which are too large for a float
    return bool(deviation < (LOST_OF_EQUAL if nearly_equal else LOST) * size)


def jumping(graph: Graph, tensors: Mapping[str, Array]) -> set[str]:
    """The nodes that jump, or depend on one that does, where a node before them rounds such numbers."""
    types, unsure, jumps = types_of(graph), set[str](), set[str]()
    for node in graph.nodes:
        if not unsure.isdisjoint(node.inputs) and OPERATORS[node.operator].discontinuous:
            jumps.add(node.name)
        if not jumps.isdisjoint(node.inputs):
            jumps.add(node.name)
        if not unsure.isdisjoint(node.inputs) or _is_unsure(node, types, tensors):
            unsure.add(node.name)
    return jumps


def _is_unsure(node: Node, types: Mapping[str, TensorType], tensors: Mapping[str, Array]) -> bool:
    """Whether a node rounds on numbers that are too small, too large or normalised by next to nothing."""
    if not rounds(node, types):
        return False
    near = [name for name in (*node.inputs, node.name) if types[name].is_float]
    extreme = (too_small(tensors[one], types[one].dtype) | too_large(tensors[one], types[one].dtype) for one in near)
    return any(mask.any() for mask in extreme) or is_degenerate(node, [tensors[name] for name in node.inputs])

"""Numbers that frameworks may flush or overflow on, and what jumps because of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.graph import Array, Graph, Node, TensorType
from jostle.frameworks.judging.normalising import is_degenerate
from jostle.frameworks.judging.rounding import rounds
from jostle.frameworks.operators.all_operators import operator_named, types_of


def too_small(values: Array, dtype: str) -> Array:
    """Not 0, but not a normal number."""
    sizes = np.abs(values)
    return np.asarray((sizes > 0) & (sizes < 2 * float(np.finfo(dtype).tiny)))


def too_large(values: Array, dtype: str) -> Array:
    """Finite, but not its square."""
    sizes = np.abs(values)
    return np.asarray(np.isfinite(sizes) & (sizes > 2.0 ** (np.finfo(dtype).maxexp / 2)))


def jumping(graph: Graph, tensors: Mapping[str, Array]) -> set[str]:
    """The nodes that jump, or depend on one that does, on what such numbers may make of a rounding node's result."""
    types, unsure, jumps = types_of(graph), set[str](), set[str]()
    for node in graph.nodes:
        if not unsure.isdisjoint(node.inputs) and (operator_named(node.operator).discontinuous):
            jumps.add(node.name)
        if not jumps.isdisjoint(node.inputs):
            jumps.add(node.name)
        if not unsure.isdisjoint(node.inputs) or _is_unsure(node, types, tensors):
            unsure.add(node.name)
    return jumps


def _is_unsure(node: Node, types: Mapping[str, TensorType], tensors: Mapping[str, Array]) -> bool:
    if not rounds(node, types):
        return False
    near = [name for name in (*node.inputs, node.name) if types[name].is_float]
    extreme = (too_small(tensors[one], types[one].dtype) | too_large(tensors[one], types[one].dtype) for one in near)
    return any(mask.any() for mask in extreme) or is_degenerate(node, [tensors[name] for name in node.inputs])

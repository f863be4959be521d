"""Graphs whose leaves are changed, as far as operators take them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jostle.frameworks.graph import Array, Graph, Invalid, Leaf
from jostle.frameworks.operators.all_operators import types_of


def with_leaves(graph: Graph, change: Callable[[Array], Array], which: Callable[[Leaf], bool]) -> Graph | None:
    """The same graph on other leaves; None if no such graph is valid."""
    with np.errstate(over="ignore"):
        leaves = {
            name: Leaf(leaf.role, change(leaf.array)) if which(leaf) else leaf for name, leaf in graph.leaves.items()
        }
    changed = replace(graph, leaves=leaves)
    try:
        types_of(changed)
    except Invalid:
        return None
    return changed

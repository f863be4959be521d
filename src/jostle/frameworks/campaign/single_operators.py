"""Models of one operator for the sweep: attributes, dtypes, shapes, values and layouts from their whole domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jostle.frameworks.campaign.seed_graphs import with_training
from jostle.frameworks.drawing import TRIES, draw_node, leaf_for
from jostle.frameworks.edits.all_edits import edited
from jostle.frameworks.edits.parameters import PARAMETERS
from jostle.frameworks.edits.values import INPUTS
from jostle.frameworks.graph import DTYPES, Graph, Invalid, Leaf, TensorType
from jostle.frameworks.operators.all_operators import LARGEST, OPERATORS
from jostle.frameworks.operators.operator import Operator, Wanted
from jostle.frameworks.strategies.strategy import Random
from jostle.frameworks.value_classes import classes_for, of_class

MOST_RANK = 5
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12)  # of axes
LONG = (16, 17, 31, 33, 64, 100, 257)  # around the widths that vector instructions and blocks of kernels have
LONG_SHARE, EMPTY_SHARE = 0.25, 0.08  # of models with one such axis, and with an axis of nothing
# What an input is for -> the share of models in which its values are of a class; indices and variances must
# keep what they mean.
CLASSED = {"values": 0.6, "nonzero": 0.1, "weights": 0.1, "mask": 0.3, "mean": 0.2}
LAID_OUT = {"change layout": 0.3, "change style": 0.3}  # edits, and the share of models that they are made of
EDITS = {edit.name: edit for edit in (*PARAMETERS, *INPUTS) if edit.name in LAID_OUT}


def drawn_anew(name: str, rng: Random) -> Graph:
    """A model of this operator."""
    operator = OPERATORS[name]
    for _ in range(TRIES):
        try:
            graph = _drawn(operator, rng)
        except Invalid:
            continue
        return with_training(_laid_out(graph, rng), rng)
    raise Invalid(f"{name} found no model")


def _drawn(operator: Operator, rng: Random) -> Graph:
    first = any_type(operator, rng)
    node, wanted = draw_node(operator, "y", "x", {"x": first}, rng)
    given = [Wanted(first.shape, first.dtype, "values"), *wanted]
    return Graph(dict(zip(node.inputs, _leaves(given, rng), strict=True)), (node,), ("y",))


def any_type(operator: Operator, rng: Random) -> TensorType:
    """A first input that the operator accepts; all dtypes and ranks have the same chance."""
    for _ in range(1000):
        type_ = TensorType(_any_shape(rng), DTYPES[rng.integers(len(DTYPES))])
        if type_.size <= LARGEST // 4 and operator.accepts(type_):
            return type_
    raise Invalid(f"{operator.name} accepts nothing")


def _any_shape(rng: Random) -> tuple[int, ...]:
    shape = [int(size) for size in rng.choice(SIZES, int(rng.integers(MOST_RANK + 1)))]
    for share, sizes in ((LONG_SHARE, LONG), (EMPTY_SHARE, (0,))):
        if shape and rng.random() < share:
            shape[int(rng.integers(len(shape)))] = int(rng.choice(sizes))
    return tuple(shape)


def _leaves(given: Sequence[Wanted], rng: Random) -> list[Leaf]:
    return [_leaf(one, rng) for one in given]


def _leaf(wanted: Wanted, rng: Random) -> Leaf:
    leaf = leaf_for(wanted, rng)
    if rng.random() >= CLASSED.get(wanted.filled, 0.0):
        return leaf
    names = list(classes_for(leaf.array))
    return replace(leaf, array=of_class(names[int(rng.integers(len(names)))], leaf.array, rng))


def _laid_out(graph: Graph, rng: Random) -> Graph:
    """In memory, and computed, as torch lets a user choose; other frameworks see no difference."""
    for name, share in LAID_OUT.items():
        if rng.random() < share:
            graph = edited(graph, EDITS[name], rng) or graph
    return graph

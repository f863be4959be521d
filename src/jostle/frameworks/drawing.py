"""Random arrays, nodes and one-node models, all of them valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.graph import (
    CONSTANT,
    DTYPES,
    FLOATS,
    INPUT,
    PARAMETER,
    Array,
    Graph,
    Invalid,
    Leaf,
    Node,
    TensorType,
)
from jostle.frameworks.operators.all_operators import LARGEST, OPERATORS, type_of
from jostle.frameworks.operators.operator import Operator, Wanted

SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-38, 1e-45, 3e38, -3e38, 1e4, 0.5, 2.5)
TRIES = 40
ROLE_OF = {"weights": PARAMETER} | dict.fromkeys(("mean", "variance", "indices", "mask", "shifts"), CONSTANT)


def filled(wanted: Wanted, rng: np.random.Generator) -> Array:
    """Values that an input may take by its purpose."""
    return np.asarray(_drawn_values(wanted, rng))  # numpy gives a scalar where there are no axes


def _drawn_values(wanted: Wanted, rng: np.random.Generator) -> Any:
    shape, dtype = wanted.shape, np.dtype(wanted.dtype)
    if wanted.filled == "indices":
        return rng.integers(0, max(wanted.limit, 1), shape).astype(dtype)
    if wanted.filled == "shifts":
        return rng.integers(0, 8 * dtype.itemsize - 1, shape).astype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.7
    if wanted.filled == "variance":
        return rng.uniform(0.1, 2.0, shape).astype(dtype)
    if wanted.filled == "grid":
        return rng.uniform(-1.3, 1.3, shape).astype(dtype)
    if dtype.kind in "iu":
        return _whole(wanted, rng).astype(dtype)
    values = rng.standard_normal(shape) * (0.5 if wanted.filled == "weights" else 1.0)
    if wanted.filled == "nonzero":
        values = np.where(np.abs(values) < 0.1, 1.0, values)
    return values.astype(dtype)


def _whole(wanted: Wanted, rng: np.random.Generator) -> Array:
    low = 0 if wanted.dtype == "uint8" else -5
    values = rng.integers(low, 8, wanted.shape)
    return np.where(values == 0, 3, values) if wanted.filled == "nonzero" else values


def with_specials(array: Array, rng: np.random.Generator, share: float = 0.2) -> Array:
    """The same array with some of its floats replaced by values that kernels often get wrong."""
    if array.dtype.name not in FLOATS or array.size == 0:
        return array
    specials = np.array(SPECIAL, np.float64)[rng.integers(len(SPECIAL), size=array.shape)]
    with np.errstate(over="ignore"):
        return np.where(rng.random(array.shape) < share, specials, array).astype(array.dtype)


def leaf_for(wanted: Wanted, rng: np.random.Generator) -> Leaf:
    """A leaf that serves such a purpose; floats that are no weights are given from outside."""
    return Leaf(ROLE_OF.get(wanted.filled, INPUT), np.asarray(filled(wanted, rng)))


def draw_node(
    operator: Operator, name: str, first: str, types: Mapping[str, TensorType], rng: np.random.Generator
) -> tuple[Node, list[Wanted]]:
    """A node that reads `first`, with what else it needs, whose names follow the node's; Invalid if none was found."""
    for _ in range(TRIES):
        try:
            return _drawn(operator, name, first, types[first], rng)
        except Invalid:
            continue
    raise Invalid(f"{operator.name} found no attributes for {types[first]}")


def _drawn(
    operator: Operator, name: str, first: str, type_: TensorType, rng: np.random.Generator
) -> tuple[Node, list[Wanted]]:
    if not operator.accepts(type_):
        raise Invalid(f"{operator.name} is not defined on {type_}")
    attributes = operator.draw(type_, rng)
    wanted = list(operator.extras(type_, attributes, rng))
    node = Node(name, operator.name, (first, *extra_names(name, len(wanted))), attributes)
    result = type_of(node, [type_, *(TensorType(one.shape, one.dtype) for one in wanted)])
    if result.size > LARGEST or any(TensorType(one.shape, one.dtype).size > LARGEST for one in wanted):
        raise Invalid("too large")
    return node, wanted


def extra_names(name: str, count: int) -> list[str]:
    return [f"{name}_{letter}" for letter in "abcde"[:count]]


def draw_type(operator: Operator, rng: np.random.Generator) -> TensorType:
    """A first input that the operator accepts."""
    for _ in range(1000):
        rank = int(rng.integers(0, 6))
        shape = tuple(int(size) for size in rng.choice([1, 2, 3, 4, 5, 6, 8], rank))
        if rng.random() < 0.03 and rank:
            shape = (*shape[:-1], 0)
        dtype = str(rng.choice(["float32", "float32", "float32", *DTYPES]))
        type_ = TensorType(shape, dtype)
        if type_.size <= LARGEST // 4 and operator.accepts(type_):
            return type_
    raise Invalid(f"{operator.name} accepts nothing")


def single(name: str, rng: np.random.Generator, specials: float = 0.0) -> Graph:
    """A model of one node with this operator."""
    operator = OPERATORS[name]
    for _ in range(TRIES):
        try:
            first = draw_type(operator, rng)
            node, wanted = draw_node(operator, "y", "x", {"x": first}, rng)
        except Invalid:
            continue
        given = [Wanted(first.shape, first.dtype, "values"), *wanted]
        leaves = dict(zip(node.inputs, _leaves(given, rng, specials), strict=True))
        return Graph(leaves, (node,), ("y",))
    raise Invalid(f"{name} found no model")


def _leaves(wanted: Sequence[Wanted], rng: np.random.Generator, specials: float) -> list[Leaf]:
    leaves = [leaf_for(one, rng) for one in wanted]
    return [
        Leaf(leaf.role, with_specials(leaf.array, rng), leaf.layout)
        if leaf.role == INPUT and rng.random() < specials
        else leaf
        for leaf in leaves
    ]

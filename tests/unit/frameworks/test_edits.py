"""Mutations of models: valid, as their names say, and the same for the same randomness."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jostle.frameworks.edits.all_edits import edited, edits_with
from jostle.frameworks.edits.edit import Inapplicable
from jostle.frameworks.edits.repairing import adapter, checked
from jostle.frameworks.graph import Graph, Invalid, Leaf, TensorType, encode, fresh_names
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import OPERATORS, types_of

EDITS = edits_with(list(OPERATORS.values()))


def models() -> list[Graph]:
    rng = np.random.default_rng(0)
    return [build(rng) for build in MODELS.values()]


@pytest.mark.parametrize("name", sorted(EDITS))
def test_an_edit_makes_valid_models_and_leaves_its_parent_alone(name: str) -> None:
    rng, made = np.random.default_rng(2), 0
    for graph in models():
        before = encode(graph)
        child = edited(graph, EDITS[name], rng)
        assert encode(graph) == before
        if child is not None:
            checked(child)
            made += encode(child) != before
    assert made >= 4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_at_least_95_of_100_mutants_are_valid(seed: int) -> None:
    rng, population = np.random.default_rng(seed), models()
    counts: Counter[str] = Counter()
    names = list(EDITS)
    for _ in range(600):
        graph = population[int(rng.integers(len(population)))]
        try:
            population.append(checked(EDITS[names[int(rng.integers(len(names)))]].apply(graph, rng)))
            counts["valid"] += 1
        except Invalid:
            counts["invalid"] += 1
        except Inapplicable:
            continue
    assert counts["valid"] / counts.total() >= 0.95


def test_the_same_randomness_makes_the_same_child() -> None:
    for graph in models():
        children = [edited(graph, EDITS["add branch"], np.random.default_rng(5)) for _ in range(2)]
        assert children[0] is not None and children[1] is not None
        assert encode(children[0]) == encode(children[1])


def test_new_layers_are_of_the_vocabulary() -> None:
    rng = np.random.default_rng(0)
    few = edits_with([OPERATORS["tanh"], OPERATORS["sin"]])
    for graph in models():
        child = edited(graph, few["add layers"], rng)
        assert child is not None
        new = {node.operator for node in child.nodes} - {node.operator for node in graph.nodes}
        assert new <= {"tanh", "sin"}


@pytest.mark.parametrize(
    ("has", "wants"),
    [
        (TensorType((2, 3), "float32"), TensorType((6,), "float32")),
        (TensorType((2, 3), "float32"), TensorType((4,), "float32")),
        (TensorType((2,), "float32"), TensorType((3, 4), "float32")),
        (TensorType((2,), "int64"), TensorType((2, 2), "float64")),
        (TensorType((0,), "float32"), TensorType((2,), "float32")),
    ],
)
def test_an_adapter_gives_the_type_that_is_wanted(has: TensorType, wants: TensorType) -> None:
    graph = Graph({"x": Leaf("input", np.ones(has.shape, has.dtype))}, (), ())
    nodes = adapter("x", has, wants, fresh_names(graph, "fit"))
    assert types_of(Graph(graph.leaves, tuple(nodes), (nodes[-1].name,)))[nodes[-1].name] == wants


def test_neurons_come_and_go() -> None:
    graph, rng = models()[2], np.random.default_rng(0)
    sizes = lambda one: sum(leaf.array.size for leaf in one.leaves.values())  # noqa: E731
    more, fewer = edited(graph, EDITS["add neuron"], rng), edited(graph, EDITS["delete neuron"], rng)
    assert more is not None and fewer is not None
    assert sizes(fewer) < sizes(graph) < sizes(more)

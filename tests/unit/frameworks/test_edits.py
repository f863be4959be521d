"""Mutations of models: valid, as their names say, and the same for the same randomness."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from jostle.frameworks.edits.all_edits import edited, edits_with
from jostle.frameworks.edits.edit import Inapplicable
from jostle.frameworks.edits.repairing import adapter, checked
from jostle.frameworks.graph import Graph, Invalid, Leaf, Node, TensorType, encode, fresh_names
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.reference.run import evaluate

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


def following(name: str, seed: int) -> tuple[Graph, Graph]:
    """A model, and what an edit made of it."""
    graph = models()[seed % 2]  # with normalisation, pooling and flattening between layers
    child = edited(graph, EDITS[name], np.random.default_rng(seed))
    assert child is not None and encode(child) != encode(graph)
    return graph, child


def leaves_apart(graph: Graph, child: Graph) -> set[str]:
    return {name for name in graph.leaves if not np.array_equal(graph.leaves[name].array, child.leaves[name].array)}


@pytest.mark.parametrize("model", ["cnn", "residual", "mlp", "attention"])
@pytest.mark.parametrize("seed", range(5))
def test_neurons_that_are_swapped_with_what_reads_them_leave_the_function_as_it_is(model: str, seed: int) -> None:
    graph = MODELS[model](np.random.default_rng(seed))
    child = edited(graph, EDITS["swap neurons"], np.random.default_rng(seed))
    assert child is not None and len(leaves_apart(graph, child)) >= 3
    before, after = evaluate(graph), evaluate(child)
    np.testing.assert_allclose(after[graph.outputs[0]], before[graph.outputs[0]], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_neurons_that_are_switched_have_each_others_weights_and_bias(seed: int) -> None:
    graph, child = following("switch neurons", seed)
    weights, bias = sorted(leaves_apart(graph, child), key=lambda name: -graph.leaves[name].array.ndim)
    before, after = (np.c_[rows(one, weights), one.leaves[bias].array] for one in (graph, child))
    moved = np.flatnonzero((before != after).any(1))
    assert len(moved) == 2
    np.testing.assert_array_equal(after[moved], before[moved[::-1]])
    assert not np.allclose(evaluate(graph)[graph.outputs[0]], evaluate(child)[graph.outputs[0]])


def rows(graph: Graph, name: str) -> np.ndarray:
    return graph.leaves[name].array.reshape(len(graph.leaves[name].array), -1)


@pytest.mark.parametrize("seed", range(6))
def test_a_neuron_that_is_inverted_alone_gives_the_same_with_the_other_sign(seed: int) -> None:
    graph, child = following("invert neuron", seed)
    layer = next(node for node in graph.nodes if set(node.inputs[1:]) == leaves_apart(graph, child))
    axis = 1 if layer.operator == "conv" else -1
    before, after = (np.moveaxis(evaluate(one)[layer.name], axis, 0) for one in (graph, child))
    apart = [unit for unit, (old, new) in enumerate(zip(before, after, strict=True)) if not np.array_equal(old, new)]
    assert len(apart) == 1
    np.testing.assert_array_equal(after[apart], -before[apart])


@pytest.mark.parametrize("seed", range(6))
def test_what_a_neuron_gives_has_no_effect_once_it_is_blocked(seed: int) -> None:
    graph, child = following("block neuron", seed)
    (weights,) = leaves_apart(graph, child)
    blocked = np.flatnonzero(~child.leaves[weights].array.any((0, *range(2, child.leaves[weights].array.ndim))))
    reader = child.readers(weights)[0]
    source = evaluate(child)[reader.inputs[0]].astype(np.float32)
    assert blocked.size and source[:, blocked].any()
    unmoved, moved = (
        read_alone(child, reader, array) for array in (source, source + np.isin(columns(source), blocked))
    )
    np.testing.assert_array_equal(moved, unmoved)


def columns(array: np.ndarray) -> np.ndarray:
    """The place of every element along the second axis."""
    return np.indices(array.shape)[1]


def read_alone(graph: Graph, node: Node, first: np.ndarray) -> np.ndarray:
    """What a node makes of another first input."""
    leaves = {**graph.leaves, "seen": Leaf("input", first.astype(np.float32))}
    alone = Graph(leaves, (replace(node, inputs=("seen", *node.inputs[1:])),), (node.name,))
    return evaluate(alone)[node.name]


def test_a_neuron_whose_readers_are_not_all_known_is_neither_swapped_nor_blocked() -> None:
    graph = MODELS["mlp"](np.random.default_rng(0))
    inner = graph.nodes[0].name
    seen = replace(graph, outputs=(*graph.outputs, inner))
    joined = Node("joined", "softmax", (inner,), {"axis": 1})
    softened = replace(seen, nodes=(*graph.nodes, joined), outputs=(*graph.outputs, "joined"))
    for name in ("swap neurons", "block neuron"):
        assert edited(graph, EDITS[name], np.random.default_rng(0)) is not None
        assert edited(seen, EDITS[name], np.random.default_rng(0)) is None
        assert edited(softened, EDITS[name], np.random.default_rng(0)) is None


def test_dropout_that_is_added_is_by_our_mask_or_by_the_librarys_kernel() -> None:
    rng, graph = np.random.default_rng(0), models()[2]
    added = {node.operator for _ in range(20) for node in edited(graph, EDITS["add dropout"], rng).nodes}  # type: ignore[union-attr]
    assert added - {node.operator for node in graph.nodes} == {"dropout", "dropout_identity"}

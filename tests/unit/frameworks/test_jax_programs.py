"""JAX runs every operator that it has as the catalogue types it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from jostle.frameworks.signals import jax_signals

from jostle.frameworks.backends.jax.programs import JaxPrograms
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, Unsupported, arrays_of, differentiated
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import CONSTANT, INPUT, PARAMETER, Graph, Leaf, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.training import OPTIMISERS
from running_programs import Child, child_of

# Other tests fork, which a process that has loaded JAX must not.
CHILD: list[Child] = []


@pytest.fixture(scope="module", autouse=True)
def _child() -> Iterator[None]:
    lowering = "jostle.frameworks.backends.jax.programs:JaxPrograms"
    with child_of(lowering, "jostle.frameworks.backends.jax.signals") as child:
        CHILD[:] = [child]
        yield


def run(graph: Graph, phase: str) -> dict[str, Any]:
    JaxPrograms().program(graph, phase)  # Unsupported, if it is
    answer: dict[str, Any] = CHILD[0].run(graph, phase)
    assert "result" in answer, answer
    return answer


def of(operator: str, arrays: list[Any], **attributes: Any) -> Graph:
    leaves = {name: Leaf(INPUT, np.asarray(array)) for name, array in zip("xabcde", arrays, strict=False)}
    return Graph(leaves, (Node("y", operator, tuple(leaves), attributes),), ("y",))


def supported(name: str, phase: str) -> Graph:
    """The first draw that JAX has a program for."""
    for draw in range(20):
        graph = single(name, np.random.default_rng(draw))
        try:
            JaxPrograms().program(graph, phase)
        except Unsupported:
            continue
        return graph
    pytest.fail(f"{name} should be supported")


def linear_model(training: Training) -> Graph:
    rng = np.random.default_rng(3)
    leaves = {
        "x": Leaf(INPUT, rng.standard_normal((4, 3))),
        "w": Leaf(PARAMETER, rng.standard_normal((2, 3))),
        "b": Leaf(PARAMETER, rng.standard_normal(2)),
    }
    return Graph(leaves, (Node("y", "linear", ("x", "w", "b")),), ("y",), training)


def gives_its_type(name: str, draw: int) -> None:
    graph = single(name, np.random.default_rng([draw, *name.encode()]))
    try:
        result = run(graph, PREDICT)["result"]["y"]
    except Unsupported:
        return
    type_ = types_of(graph)["y"]
    assert (result.shape, result.dtype.name) == (type_.shape, type_.dtype)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_the_type_that_the_catalogue_infers(name: str) -> None:
    gives_its_type(name, draw=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_the_type_that_the_catalogue_infers_on_more_draws(name: str) -> None:
    for draw in range(1, 4):
        gives_its_type(name, draw)


def test_every_operator_is_supported_on_some_draw() -> None:
    for name in OPERATORS:
        supported(name, PREDICT)


X = np.random.default_rng(0).standard_normal((2, 3, 6))
VALUES = (
    (of("softsign", [X]), X / (1 + np.abs(X))),
    (of("hardswish", [X]), X * np.clip(X / 6 + 0.5, 0, 1)),
    (of("cumsum", [X], axis=2, exclusive=True, reverse=False), np.cumsum(X, axis=2) - X),
    (of("cumsum", [X], axis=1, exclusive=True, reverse=True), np.cumsum(X[:, ::-1], axis=1)[:, ::-1] - X),
    (of("slice", [X], starts=[0, 2, 4], sizes=[2, 2, 3], steps=[1, -2, -2]), X[0:2, 2::-2, 4::-2]),
    (of("topk_values", [X], k=2, axis=1, largest=False), np.sort(X, axis=1)[:, :2]),
    (of("instance_norm", [X, np.ones(3), np.zeros(3)], epsilon=1e-3), None),
    (of("max_pool", [X], kernel=[2], strides=[2], padding=[0], dilations=[1], ceil=False), None),
    (of("resize", [X], size=[3], mode="nearest_exact"), X[:, :, 1::2]),
)


def expected_of(graph: Graph) -> Any:
    if graph.nodes[0].operator == "instance_norm":
        return (X - X.mean(2, keepdims=True)) / np.sqrt(X.var(2, keepdims=True) + 1e-3)
    return X.reshape(2, 3, 3, 2).max(3)


@pytest.mark.parametrize(("graph", "expected"), VALUES, ids=[graph.nodes[0].operator for graph, _ in VALUES])
def test_values_are_those_of_numpy(graph: Graph, expected: Any) -> None:
    np.testing.assert_allclose(
        run(graph, PREDICT)["result"]["y"], expected_of(graph) if expected is None else expected, rtol=1e-12, atol=1e-12
    )


def test_a_pool_that_rounds_up_counts_padding_but_nothing_beyond_it() -> None:
    graph = of("avg_pool", [np.ones((1, 1, 4))], kernel=[3], strides=[2], padding=[1], ceil=True, include_pad=True)
    # Padded, the image is 0 1 1 1 1 0: the last window has the 1 and the 0, and none beyond.
    np.testing.assert_allclose(run(graph, PREDICT)["result"]["y"], [[[2 / 3, 1.0, 0.5]]])


def test_a_scatter_adds_every_update_of_a_place() -> None:
    graph = of("scatter", [np.zeros(3), np.array([1, 1, 2]), np.ones(3)], axis=0, reduction="add")
    np.testing.assert_array_equal(run(graph, PREDICT)["result"]["y"], [0, 2, 1])


@pytest.mark.parametrize("name", ["mul", "conv", "softmax", "rnn", "max_pool", "topk_values", "grid_sample", "pad"])
def test_a_gradient_has_the_type_of_its_leaf(name: str) -> None:
    graph = supported(name, GRADIENT)
    result = run(graph, GRADIENT)["result"]
    for leaf in differentiated(graph):
        assert result[f"d_{leaf}"].shape == graph.leaves[leaf].array.shape
        assert result[f"d_{leaf}"].dtype == graph.leaves[leaf].array.dtype


def test_a_gradient_weighs_every_output_of_floats_with_its_cotangent() -> None:
    leaves = {"x": Leaf(INPUT, np.array([1.0, -2.0])), "i": Leaf(CONSTANT, np.array([1, 0]))}
    nodes = (Node("y", "square", ("x",)), Node("z", "take", ("x", "i"), {"axis": 0}), Node("s", "isnan", ("x",)))
    graph = Graph(leaves, nodes, ("y", "z", "s"))
    result, arrays = run(graph, GRADIENT)["result"], arrays_of(graph, GRADIENT)
    expected = 2 * leaves["x"].array * arrays["cotangent_y"] + arrays["cotangent_z"][::-1]
    np.testing.assert_allclose(result["d_x"], expected)
    assert set(result) == {"y", "z", "s", "d_x"}


def test_training_by_sgd_with_a_penalty_follows_its_formula() -> None:
    target = np.zeros((4, 2))
    training = Training("mse", target, "l2", 0.1, "sgd", {"rate": 0.1, "momentum": 0.9, "nesterov": 1.0}, 3)
    graph = linear_model(training)
    x, w, b = (graph.leaves[name].array for name in ("x", "w", "b"))
    losses, (v, u) = [], (np.zeros_like(w), np.zeros_like(b))
    for _ in range(3):
        y = x @ w.T + b
        losses.append(np.mean(y**2) + 0.1 * (np.sum(w**2) + np.sum(b**2)))
        g, h = 2 * y.T @ x / y.size + 0.2 * w, 2 * y.sum(0) / y.size + 0.2 * b
        v, u = 0.9 * v + g, 0.9 * u + h
        w, b = w - 0.1 * (g + 0.9 * v), b - 0.1 * (h + 0.9 * u)
    result = run(graph, TRAIN)["result"]
    np.testing.assert_allclose(result["loss"], losses)
    np.testing.assert_allclose(result["w"], w)
    np.testing.assert_allclose(result["b"], b)


@pytest.mark.parametrize("name", ["adam", "rmsprop", "adamax"])
def test_one_step_of_an_optimiser_moves_by_its_rate(name: str) -> None:
    settings = {key: values[0] for key, values in OPTIMISERS[name].settings.items()}
    graph = linear_model(Training("hinge", np.ones((4, 2)), optimiser=name, settings=settings))
    result = run(graph, TRAIN)["result"]
    moved = np.abs(result["b"] - graph.leaves["b"].array)
    expected = {"rmsprop": settings["rate"] / np.sqrt(0.01)}.get(name, settings["rate"])
    assert result["loss"].shape == (1,)
    np.testing.assert_allclose(moved[moved > 0], expected, rtol=1e-5)


def test_an_optimiser_that_optax_defines_otherwise_is_unsupported() -> None:
    graph = linear_model(
        Training("mse", np.zeros((4, 2)), optimiser="adagrad", settings={"rate": 0.1, "epsilon": 1e-8})
    )
    with pytest.raises(Unsupported, match="adagrad"):
        JaxPrograms().program(graph, TRAIN)


def test_signals_name_the_instructions_that_xla_runs() -> None:
    graph = of("matmul", [np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)])
    signals = run(graph, PREDICT)["signals"]
    assert "hlo:parameter:f32" in signals
    assert any(signal.startswith("hlo:dot") for signal in signals)
    assert jax_signals.watched(lambda: None, {}) == set()

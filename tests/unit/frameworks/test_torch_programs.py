from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from jostle.frameworks.backends.program import (
    GRADIENT,
    PREDICT,
    TRAIN,
    Unsupported,
    arrays_of,
)
from jostle.frameworks.backends.torch.programs import AOT, EAGER, INDUCTOR, TorchLowering
from jostle.frameworks.backends.torch.signals import after
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import LAYOUTS, Array, Graph, Leaf, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.training import LOSSES, OPTIMISERS, PENALTIES

SEEDS = range(3)
# torch 2.13 writes outside its memory in the backward pass of a max_pool with windows that see nothing but padding, and
# its avg_pool3d does not count the padding.
UNSAFE = ("max_pool", "avg_pool", "sum_pool")


def ran(lowering: TorchLowering, graph: Graph, phase: str) -> Mapping[str, Array]:
    namespace: dict[str, object] = dict(arrays_of(graph, phase))
    exec(lowering.program(graph, phase), namespace)
    result = namespace["result"]
    assert isinstance(result, dict)
    return result


def drawn(name: str, phase: str, specials: float = 0.3) -> Iterator[Graph]:
    """Graphs of one node that torch supports."""
    for seed in SEEDS:
        graph = single(name, np.random.default_rng(seed), specials)
        try:
            EAGER.program(graph, phase)
        except Unsupported:
            continue
        yield graph


def with_style(graph: Graph, style: str) -> Graph:
    return replace(graph, nodes=tuple(replace(node, style=style) for node in graph.nodes))


def with_layout(graph: Graph, layout: str) -> Graph:
    return replace(graph, leaves={name: replace(leaf, layout=layout) for name, leaf in graph.leaves.items()})


def assert_same(one: Mapping[str, Array], other: Mapping[str, Array], tolerance: float = 1e-5) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert (array.shape, array.dtype) == (other[name].shape, other[name].dtype)
        np.testing.assert_allclose(array, other[name], tolerance, tolerance)


def perceptron(training: Training | None = None) -> Graph:
    rng = np.random.default_rng(3)
    leaves = {
        "x": Leaf("input", rng.standard_normal((4, 3)).astype(np.float32)),
        "w": Leaf("parameter", rng.standard_normal((2, 3)).astype(np.float32)),
        "b": Leaf("parameter", rng.standard_normal(2).astype(np.float32)),
        "unused": Leaf("parameter", rng.standard_normal(2).astype(np.float32)),
    }
    nodes = (Node("linear1", "linear", ("x", "w", "b")), Node("y", "tanh", ("linear1",)))
    return Graph(leaves, nodes, ("y",), training)


def trained(loss: str = "mse", penalty: str = "none", optimiser: str = "sgd", **settings: float) -> Graph:
    target = np.array([0, 1, 1, 0]) if loss == "cross_entropy" else np.ones((4, 2), np.float32)
    usual = {name: values[0] for name, values in OPTIMISERS[optimiser].settings.items()}
    return perceptron(Training(loss, target, penalty, 0.1, optimiser, usual | settings, 3))


def test_what_no_gradient_reaches_has_one_of_zeros() -> None:
    result = ran(EAGER, perceptron(), GRADIENT)
    assert not result["d_unused"].any() and result["d_w"].any()
    rounded = Graph({"x": Leaf("input", np.ones(2))}, (Node("y", "cast", ("x",), {"to": "int64"}),), ("y",))
    assert not ran(EAGER, rounded, GRADIENT)["d_x"].any()


def test_statistics_of_batch_norm_have_gradients_too() -> None:
    graph = single("batch_norm", np.random.default_rng(0))
    asked = replace(graph, leaves={name: replace(leaf, role="input") for name, leaf in graph.leaves.items()})
    assert ran(EAGER, asked, GRADIENT)["d_y_c"].any()
    assert_same(ran(EAGER, graph, PREDICT), {"y": ran(EAGER, asked, GRADIENT)["y"]})


def differs_with_style(name: str, style: str) -> bool:
    for graph in drawn(name, GRADIENT, specials=0.0):
        if 0 not in types_of(graph)["x"].shape:
            try:
                assert_same(ran(EAGER, with_style(graph, style), GRADIENT), ran(EAGER, graph, GRADIENT))
            except AssertionError:
                return True
    return False


@pytest.mark.parametrize("style", ["in_place", "view"])
def test_a_style_changes_no_result(style: str) -> None:
    assert [name for name in OPERATORS if name not in UNSAFE and differs_with_style(name, style)] == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["conv", "add", "sum", "layer_norm", "matmul", "concat", "resize", "lstm"])
def test_a_layout_changes_no_result(name: str, layout: str) -> None:
    for graph in drawn(name, GRADIENT, specials=0.0):
        assert_same(ran(EAGER, with_layout(graph, layout), GRADIENT), ran(EAGER, graph, GRADIENT), 1e-4)


@pytest.mark.parametrize(
    ("layout", "strides"), [("transposed", (1, 2)), ("strided", (6, 2)), ("expanded", (0, 1)), ("contiguous", (3, 1))]
)
def test_a_leaf_lies_in_memory_as_it_says(layout: str, strides: tuple[int, int]) -> None:
    leaf = Leaf("input", np.array([[1.0, 2.0, np.nan]] * 2), layout)
    namespace: dict[str, object] = dict(arrays_of(graph := Graph({"x": leaf}, (), ("x",)), PREDICT))
    exec(EAGER.program(graph, PREDICT).replace("\nx = model(x)", "\nstrides = x.stride()\nx = model(x)"), namespace)
    assert namespace["strides"] == strides


@pytest.mark.parametrize("optimiser", ["sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax"])
def test_every_optimiser_lowers_the_loss(optimiser: str) -> None:
    result = ran(EAGER, trained(optimiser=optimiser), TRAIN)
    assert result.keys() == {"loss", "w", "b", "unused"} and result["loss"].shape == (3,)
    assert result["loss"][2] < result["loss"][0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_loss_trains_with_every_penalty(loss: str, penalty: str) -> None:
    graph = trained(loss, penalty)
    result = ran(EAGER, graph, TRAIN)
    assert np.isfinite(result["loss"]).all()
    assert not np.array_equal(result["w"], graph.leaves["w"].array)
    assert np.array_equal(result["unused"], graph.leaves["unused"].array) == (penalty == "none")


def test_weights_without_a_gradient_decay() -> None:
    graph = trained(optimiser="adamw", rate=0.1, decay=0.1)
    kept = ran(EAGER, graph, TRAIN)["unused"]
    np.testing.assert_allclose(kept, graph.leaves["unused"].array * 0.99**3, 1e-6)


def test_nesterov_without_momentum_is_plain_descent() -> None:
    assert_same(ran(EAGER, trained(momentum=0.0, nesterov=1.0), TRAIN), ran(EAGER, trained(), TRAIN))


def test_training_leaves_the_graph_alone() -> None:
    graph = trained()
    before = graph.digest()
    ran(EAGER, graph, TRAIN)
    assert graph.digest() == before


@pytest.mark.parametrize("name", ["gelu", "conv", "scatter", "layer_norm", "cumsum", "attention", "gru", "remainder"])
def test_compiled_agrees_with_eager(name: str) -> None:
    graph = with_style(single(name, np.random.default_rng(2)), "in_place")
    assert_same(ran(AOT, graph, PREDICT), ran(EAGER, graph, PREDICT))
    after()


@pytest.mark.parametrize("phase", [GRADIENT, TRAIN])
def test_compiled_trains_as_eager(phase: str) -> None:
    assert_same(ran(AOT, trained(), phase), ran(EAGER, trained(), phase))
    after()


def test_only_the_call_that_compiles_differs() -> None:
    eager, compiled = (one.program(perceptron(), PREDICT).splitlines() for one in (EAGER, INDUCTOR))
    assert [line for line in compiled if line not in eager] == ["model = torch.compile(model)"]

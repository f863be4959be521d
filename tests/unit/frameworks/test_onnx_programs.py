"""Programs for ONNX Runtime and OpenVINO compute what the operators mean, with the types that we infer."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from jostle.frameworks.backends.onnx.opsets import Opsets, usual_for
from jostle.frameworks.backends.onnx.programs import ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO, OnnxLowering
from jostle.frameworks.backends.onnx.signals import newest_opset, prepare
from jostle.frameworks.backends.program import PREDICT, Unsupported, arrays_of
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import CONSTANT, INPUT, PARAMETER, Graph, Leaf, Node
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.workers.backend_server import MISSING
from lowerings_under_test import BACKENDS

DRAWS, MOST_DRAWS = 4, 20
NOWHERE = {operator for one in BACKENDS if one.name == "onnxruntime" for operator in one.missing.split()}
# Defects of the installed releases that end a process or raise; campaigns find them, these tests are about our side.
RAISES = {"conv_transpose"}  # ONNX Runtime refuses an output padding that only the dilation allows


@pytest.fixture(scope="module", autouse=True)
def quiet() -> None:
    prepare()


def ran(lowering: OnnxLowering, graph: Graph) -> dict[str, Any] | None:
    """What the program leaves; None where this is not supported."""
    try:
        namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
        exec(lowering.program(graph, PREDICT), namespace)
    except Unsupported:
        return None
    except Exception as error:
        if type(error).__name__ not in MISSING:
            raise
        return None
    return namespace


def drawn(operator: str, seed: int) -> list[Graph]:
    rng = np.random.default_rng(seed)
    return [single(operator, rng) for _ in range(DRAWS)]


def seen_alike(graph: Graph) -> bool:
    """Whether it is supported; then it was seen to be of our type, and the same optimised and plain."""
    optimised, plain = ran(ONNXRUNTIME, graph), ran(ONNXRUNTIME_PLAIN, graph)
    assert (optimised is None) == (plain is None)
    if optimised is None or plain is None:
        return False
    onnx.checker.check_model(optimised["model"], full_check=True)
    wanted, (a, b) = types_of(graph)["y"], (one["result"]["y"] for one in (optimised, plain))
    assert (a.shape, a.dtype.name) == (b.shape, b.dtype.name) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-4)
    return True


def failure_of(operator: str) -> str:
    """What is wrong with some draws of one operator, if something is."""
    supported, rng = 0, np.random.default_rng(8)
    for _ in range(MOST_DRAWS):
        try:
            supported += seen_alike(single(operator, rng))
        except Exception as error:
            return repr(error)
        if supported == DRAWS:
            break
    return "" if supported or operator in NOWHERE else "was never run"


def test_optimising_changes_neither_types_nor_values() -> None:
    failures = {operator: failure_of(operator) for operator in sorted(OPERATORS.keys() - RAISES)}
    assert {operator: failure for operator, failure in failures.items() if failure} == {}


@pytest.mark.parametrize(
    "operator", ["relu", "gelu", "slice", "resize", "lstm", "layer_norm", "argmax", "softmax", "scatter", "attention"]
)
def test_openvino_agrees_with_onnxruntime(operator: str) -> None:
    compared = 0
    for graph in drawn(operator, 4)[:3]:
        ours, theirs = ran(OPENVINO, graph), ran(ONNXRUNTIME, graph)
        if ours is not None and theirs is not None:
            a, b = ours["result"]["y"], theirs["result"]["y"]
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-4)
            compared += 1
    assert compared


def test_openvino_is_not_given_what_it_computes_in_narrower_numbers() -> None:
    double = Graph({"x": Leaf(INPUT, np.ones(2))}, (Node("y", "relu", ("x",)),), ("y",))
    large = Graph({"x": Leaf(INPUT, np.array([2**40]))}, (Node("y", "flip", ("x",), {"axes": [0]}),), ("y",))
    for graph in (double, large):
        with pytest.raises(Unsupported, match="computes"):
            OPENVINO.program(graph, PREDICT)


def small_network() -> Graph:
    rng = np.random.default_rng(0)
    leaves = {
        "x": Leaf(INPUT, rng.standard_normal((2, 4)).astype(np.float32)),
        "w": Leaf(PARAMETER, rng.standard_normal((3, 4)).astype(np.float32)),
        "b": Leaf(PARAMETER, rng.standard_normal(3).astype(np.float32)),
        "places": Leaf(CONSTANT, np.array([2, 0])),
    }
    nodes = (
        Node("h", "linear", ("x", "w", "b")),
        Node("r", "relu", ("h",)),
        Node("t", "take", ("r", "places"), {"axis": 1}),
    )
    return Graph(leaves, nodes, ("h", "t"))


@pytest.mark.parametrize("lowering", [ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO], ids=lambda one: one.name)
def test_a_network_with_two_outputs_is_computed(lowering: OnnxLowering) -> None:
    graph = small_network()
    x, w, b = (graph.leaves[name].array for name in "xwb")
    namespace = ran(lowering, graph)
    assert namespace is not None
    np.testing.assert_allclose(namespace["result"]["h"], x @ w.T + b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(namespace["result"]["t"], np.maximum(x @ w.T + b, 0)[:, [2, 0]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lowering", [ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO], ids=lambda one: one.name)
def test_leaves_that_are_outputs_or_read_by_nobody_are_passed_on(lowering: OnnxLowering) -> None:
    given = np.arange(3, dtype=np.float32)
    leaves = {"x": Leaf(INPUT, given), "p": Leaf(PARAMETER, given + 1), "unread": Leaf(INPUT, given)}
    namespace = ran(lowering, Graph(leaves, (Node("y", "relu", ("x",)),), ("y", "x", "p")))
    assert namespace is not None
    assert {name: array.tolist() for name, array in namespace["result"].items()} == {
        "y": [0, 1, 2],
        "x": [0, 1, 2],
        "p": [1, 2, 3],
    }


def test_only_inputs_are_inputs_so_that_weights_are_folded() -> None:
    namespace = ran(ONNXRUNTIME, small_network())
    assert namespace is not None
    assert [one.name for one in namespace["session"].get_inputs()] == ["x"]
    assert {one.name for one in namespace["model"].graph.initializer} == {"w", "b", "places"}


def test_positions_below_zero_name_none_in_one_hot() -> None:
    graph = Graph({"x": Leaf(INPUT, np.array([-1, 0, 7]))}, (Node("y", "one_hot", ("x",), {"depth": 2}),), ("y",))
    namespace = ran(ONNXRUNTIME, graph)
    assert namespace is not None
    assert namespace["result"]["y"].tolist() == [[0, 0], [1, 0], [0, 0]]


def test_a_program_of_one_operator_is_short_and_of_plain_lines() -> None:
    lines = ONNXRUNTIME.program(drawn("max_pool", 0)[0], PREDICT).splitlines()
    assert len(lines) <= 16
    assert any(
        re.match(r"nodes = \[helper.make_node\('MaxPool', \['x'\], \['y'\], kernel_shape=", line) for line in lines
    )


def test_attributes_that_onnx_would_round_are_unsupported_in_float64() -> None:
    graph = Graph({"x": Leaf(INPUT, np.ones(2))}, (Node("y", "elu", ("x",), {"alpha": 0.2}),), ("y",))
    with pytest.raises(Unsupported, match="in float32"):
        ONNXRUNTIME.program(graph, PREDICT)


def test_mod_of_whole_numbers_is_written_in_the_only_way_that_onnx_defines() -> None:
    leaves = {name: Leaf(INPUT, np.array([value])) for name, value in (("a", -(2**53) - 1), ("b", 2))}
    with pytest.raises(Unsupported, match="floats only"):
        ONNXRUNTIME.program(Graph(leaves, (Node("y", "fmod", ("a", "b")),), ("y",)), PREDICT)
    namespace = ran(ONNXRUNTIME, Graph(leaves, (Node("y", "floor_divide", ("a", "b")),), ("y",)))
    assert namespace is not None and namespace["result"]["y"] == -(2**52) - 1


def test_the_type_that_means_a_missing_kernel_exists() -> None:
    missing = onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented
    assert issubclass(missing, Exception) and missing.__name__ in MISSING


def built(lowering: OnnxLowering, graph: Graph) -> onnx.ModelProto:
    """The model that a program makes, which is not run."""
    namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
    exec(replace(lowering, run=lambda graph: []).program(graph, PREDICT), namespace)
    return namespace["model"]


def test_models_for_old_runtimes_are_sound_in_the_oldest_operator_set_that_has_their_operators() -> None:
    oldest = replace(ONNXRUNTIME, opsets=Opsets(usual=18))
    versions = set()
    for name in OPERATORS:
        for draw in range(3):
            graph = single(name, np.random.default_rng([draw, *name.encode()]))
            try:
                model = built(oldest, graph)
            except Unsupported:
                continue
            onnx.checker.check_model(model, full_check=True)
            versions.add(model.opset_import[0].version)
    assert {18, 20, 21, 23, 26} <= versions


def test_an_old_runtime_has_nothing_for_newer_operators() -> None:
    old = replace(ONNXRUNTIME, opsets=Opsets(usual_for([newest_opset(), 19]), newest=19))
    assert built(old, single("relu", np.random.default_rng(0))).opset_import[0].version == 19
    with pytest.raises(Unsupported, match="has no opset 20"):
        old.program(single("gelu", np.random.default_rng(0)), PREDICT)

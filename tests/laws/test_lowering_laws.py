"""What holds of every lowering: its programs run, and give what the operators mean in the types that we infer."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.all_backends import WATCHED, signals_of
from jostle.frameworks.backends.program import (
    GRADIENT,
    PHASES,
    PREDICT,
    TRAIN,
    Unsupported,
    arrays_of,
    differentiated,
)
from jostle.frameworks.drawing import single
from jostle.frameworks.edits.parameters import drawn_settings
from jostle.frameworks.graph import CONSTANT, FLOATS, INPUT, PARAMETER, Array, Graph, Leaf, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.operators.operator import Operator, Rounding
from jostle.frameworks.reference import run as reference
from jostle.frameworks.training import OPTIMISERS
from lowerings_under_test import BACKENDS, Backend
from running_programs import child_of, outcome
from soaking import times

THEMES = (
    *("elementwise", "reductions", "shaping", "indexing", "convolutions", "pooling", "normalisation", "sampling"),
    *(
        "layers",
        "dropout",
        "special_functions",
        "arithmetic",
        "activations",
        "quantization",
        "statistics",
        "linear_algebra",
    ),
    *("selection", "plain_normalisation", "windows", "recurrent"),
)
MOST_DRAWS = 20
Run = Callable[[Graph, str], Mapping[str, Any]]


@pytest.fixture(scope="session", params=BACKENDS, ids=lambda one: one.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture(scope="session")
def run(backend: Backend) -> Iterator[Run]:
    """Runs a graph's program; what it leaves and the signals, or the reason why not. One process for all laws."""
    if backend.apart:
        with child_of(backend.name) as child:
            yield child.run
        return
    signals = importlib.import_module(signals_of(backend.lowering))
    signals.prepare()
    yield lambda graph, phase: outcome(graph, phase, backend.lowering, signals)


def drawn(backend: Backend, operator: str, phase: str, first: int = 0) -> Iterator[Graph]:
    """Graphs of one operator that the lowering has a program for, from this draw on."""
    for draw in range(first, first + MOST_DRAWS):
        graph = single(operator, np.random.default_rng([draw, *operator.encode()]), backend.specials)
        try:
            backend.lowering.program(graph, phase)
        except Unsupported:
            continue
        yield graph


def known_to_raise(backend: Backend, operator: str, answer: Mapping[str, Any]) -> bool:
    return (
        "error" in answer and operator in backend.raises and bool(re.search(backend.raises[operator], answer["error"]))
    )


def wrong_types(wanted: Mapping[str, tuple[Any, ...]], result: Mapping[str, Array]) -> str:
    found = {name: (result[name].shape, result[name].dtype.name) for name in wanted if name in result}
    return "" if found == wanted else f"{found} is not {wanted}"


def operators_of(theme: str) -> set[str]:
    parts = vars(importlib.import_module(f"jostle.frameworks.operators.{theme}")).values()
    return {one.name for part in parts if isinstance(part, tuple) for one in part if isinstance(one, Operator)}


@pytest.mark.parametrize("theme", THEMES)
def test_an_operator_is_found_under_the_same_theme_everywhere(theme: str) -> None:
    rooms = ("reference", *(f"backends.{folder}" for folder in WATCHED))
    for module in (f"jostle.frameworks.{room}.{theme}" for room in rooms):
        if importlib.util.find_spec(module) is not None:
            assert vars(importlib.import_module(module))[theme.upper()].keys() <= operators_of(theme), module


def test_every_operator_has_one_theme() -> None:
    assert sorted(name for theme in THEMES for name in operators_of(theme)) == sorted(OPERATORS)


def test_every_operator_is_supported_or_known_to_be_missing(backend: Backend) -> None:
    assert {name for name in OPERATORS if not any(drawn(backend, name, PREDICT))} == set(backend.missing.split())


def failure_of(backend: Backend, operator: str, run: Run, draws: int, first: int = 0) -> str:
    """What is wrong with so many draws of one operator, if something is."""
    ran = 0
    for graph in drawn(backend, operator, PREDICT, first):
        if ran == draws:
            break
        answer = run(graph, PREDICT)
        ran += "unsupported" not in answer
        if "unsupported" in answer or known_to_raise(backend, operator, answer):
            continue
        if "error" in answer:
            return answer["error"]
        type_ = types_of(graph)["y"]
        dtype = answer["result"]["y"].dtype.name if operator in backend.widened.split() else type_.dtype
        if wrong := wrong_types({"y": (type_.shape, dtype)}, answer["result"]) or (
            "" if answer["signals"] else "silent"
        ):
            return wrong
    return "" if ran or operator in backend.missing.split() else "was never run"


def test_an_operator_gives_the_type_that_the_catalogue_infers(backend: Backend, run: Run) -> None:
    failures = {name: failure_of(backend, name, run, draws=1) for name in OPERATORS}
    assert {name: failure for name, failure in failures.items() if failure} == {}


@pytest.mark.slow
@pytest.mark.soak
def test_an_operator_gives_the_type_that_the_catalogue_infers_on_more_draws(backend: Backend, run: Run) -> None:
    if backend.draws == 1:
        pytest.skip("has one draw")
    some = list(OPERATORS)[:: times(10, 1)]
    more = {name: failure_of(backend, name, run, backend.draws - 1, first=MOST_DRAWS) for name in some}
    assert {name: failure for name, failure in more.items() if failure} == {}


def wrong_gradient(backend: Backend, operator: str, run: Run) -> str:
    graphs = (graph for graph in drawn(backend, operator, GRADIENT) if types_of(graph)["x"].size)
    ran = 0
    for graph, _ in zip(graphs, range(backend.gradient_draws), strict=False):
        ran += 1
        answer = run(graph, GRADIENT)
        wanted = {f"d_{name}": graph.leaves[name].array for name in differentiated(graph)}
        types = {name: (array.shape, array.dtype.name) for name, array in wanted.items()}
        if wrong := answer.get("error") or wrong_types(types, answer["result"]):
            return str(wrong)
    return "" if ran or operator in backend.missing.split() else "was never run"


def with_gradients(backend: Backend) -> None:
    if GRADIENT not in backend.lowering.phases:
        pytest.skip("has no gradient")


def test_a_gradient_is_of_its_leafs_type(backend: Backend, run: Run) -> None:
    with_gradients(backend)
    judged = [name for name in backend.differentiated if name not in backend.undifferentiated.split()]
    failures = {name: wrong_gradient(backend, name, run) for name in judged}
    assert {name: failure for name, failure in failures.items() if failure} == {}


def one_node(operator: str, *arrays: Any, **attributes: Any) -> Graph:
    leaves = {name: Leaf(INPUT, np.asarray(array)) for name, array in zip("xabcde", arrays, strict=False)}
    return Graph(leaves, (Node("y", operator, tuple(leaves), attributes),), ("y",))


X = np.random.default_rng(0).standard_normal((2, 3, 6))
NARROW = X.astype(np.float32)
VALUES: Mapping[str, tuple[Graph, Any]] = {
    "relu": (one_node("relu", NARROW), np.maximum(NARROW, 0)),
    "softsign": (one_node("softsign", X), X / (1 + np.abs(X))),
    "hardswish": (one_node("hardswish", X), X * np.clip(X / 6 + 0.5, 0, 1)),
    "softmax": (one_node("softmax", X, axis=1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    "sum": (one_node("sum", NARROW, axes=[0, 2], keepdims=False), NARROW.sum((0, 2))),
    "var": (one_node("var", NARROW, axes=[1], keepdims=True, correction=1), NARROW.var(1, ddof=1, keepdims=True)),
    "cumsum": (one_node("cumsum", X, axis=2, exclusive=False, reverse=False), np.cumsum(X, axis=2)),
    "cumsum from the end": (
        one_node("cumsum", X, axis=1, exclusive=False, reverse=True),
        np.cumsum(X[:, ::-1], axis=1)[:, ::-1],
    ),
    "cumsum of others": (one_node("cumsum", X, axis=2, exclusive=True, reverse=False), np.cumsum(X, axis=2) - X),
    "cumsum of others from the end": (
        one_node("cumsum", X, axis=1, exclusive=True, reverse=True),
        np.cumsum(X[:, ::-1], axis=1)[:, ::-1] - X,
    ),
    "largest": (one_node("topk_values", X, k=2, axis=2, largest=True), -np.sort(-X, axis=2)[:, :, :2]),
    "smallest": (one_node("topk_values", X, k=2, axis=1, largest=False), np.sort(X, axis=1)[:, :2]),
    "transpose": (one_node("transpose", NARROW, permutation=[2, 0, 1]), NARROW.transpose(2, 0, 1)),
    "slice": (one_node("slice", X, starts=[0, 2, 4], sizes=[2, 2, 3], steps=[1, -2, -2]), X[0:2, 2::-2, 4::-2]),
    "slice backwards": (
        one_node("slice", NARROW, starts=[1, 2, 3], sizes=[1, 2, 2], steps=[1, -2, -1]),
        NARROW[1:2, ::-2, 3:1:-1],
    ),
    "pad": (
        one_node("pad", NARROW, mode="circular", before=[0, 0, 2], after=[0, 0, 1], value=0.0),
        np.pad(NARROW, ((0, 0), (0, 0), (2, 1)), mode="wrap"),
    ),
    "scatter": (
        one_node("scatter", np.zeros(3), np.array([1, 1, 2]), np.ones(3), axis=0, reduction="add"),
        np.array([0.0, 2, 1]),
    ),
    "max_pool": (
        one_node("max_pool", X, kernel=[2], strides=[2], padding=[0], dilations=[1], ceil=False),
        X.reshape(2, 3, 3, 2).max(3),
    ),
    # Padded, the image is 0 1 1 1 1 0: the last window has the 1 and the 0, and none beyond.
    "avg_pool that rounds up": (
        one_node("avg_pool", np.ones((1, 1, 4)), kernel=[3], strides=[2], padding=[1], ceil=True, include_pad=True),
        [[[2 / 3, 1.0, 0.5]]],
    ),
    "instance_norm": (
        one_node("instance_norm", X, np.ones(3), np.zeros(3), epsilon=2.0**-10),
        (X - X.mean(2, keepdims=True)) / np.sqrt(X.var(2, keepdims=True) + 2.0**-10),
    ),
    "resize": (one_node("resize", X, size=[3], mode="nearest_exact"), X[:, :, 1::2]),
    "linear": (one_node("linear", X, np.ones((2, 6)), np.arange(2.0)), X @ np.ones((6, 2)) + np.arange(2.0)),
}


def test_values_are_those_of_numpy(backend: Backend, run: Run) -> None:
    unsupported = []
    for name, (graph, expected) in VALUES.items():
        answer = run(graph, PREDICT)
        if "unsupported" in answer:
            unsupported.append(name)
            continue
        assert "error" not in answer, answer["error"]
        tolerance = 1e-12 if graph.leaves["x"].type.dtype == "float64" else 1e-5
        np.testing.assert_allclose(answer["result"]["y"], expected, tolerance, tolerance, err_msg=name)
    assert unsupported == list(backend.without_values)


def test_a_gradient_weighs_every_output_of_floats_with_its_cotangent(backend: Backend, run: Run) -> None:
    with_gradients(backend)
    leaves = {"x": Leaf(INPUT, np.array([1.0, -2.0])), "i": Leaf(CONSTANT, np.array([1, 0]))}
    nodes = (Node("y", "square", ("x",)), Node("z", "take", ("x", "i"), {"axis": 0}), Node("s", "isnan", ("x",)))
    graph = Graph(leaves, nodes, ("y", "z", "s"))
    result, arrays = run(graph, GRADIENT)["result"], arrays_of(graph, GRADIENT)
    expected = 2 * leaves["x"].array * arrays["cotangent_y"] + arrays["cotangent_z"][::-1]
    np.testing.assert_allclose(result["d_x"], expected)
    assert set(result) == {"y", "z", "s", "d_x"}


def linear_model(training: Training | None = None) -> Graph:
    rng = np.random.default_rng(3)
    leaves = {
        "x": Leaf(INPUT, rng.standard_normal((4, 3))),
        "w": Leaf(PARAMETER, rng.standard_normal((2, 3))),
        "b": Leaf(PARAMETER, rng.standard_normal(2)),
        "unused": Leaf(PARAMETER, rng.standard_normal(2)),
    }
    return Graph(leaves, (Node("y", "linear", ("x", "w", "b")),), ("y",), training)


def test_what_no_gradient_reaches_has_one_of_zeros(backend: Backend, run: Run) -> None:
    with_gradients(backend)
    result = run(linear_model(), GRADIENT)["result"]
    assert not result["d_unused"].any() and result["d_w"].any()


def test_without_an_output_of_floats_a_gradient_is_of_zeros_or_unsupported(backend: Backend, run: Run) -> None:
    with_gradients(backend)
    answer = run(one_node("isnan", X), GRADIENT)
    assert ("unsupported" in answer) == backend.needs_floats
    np.testing.assert_array_equal(answer.get("result", {"d_x": np.zeros_like(X)})["d_x"], np.zeros_like(X))


def with_training(backend: Backend) -> None:
    if TRAIN not in backend.lowering.phases:
        pytest.skip("does not train")


def test_training_by_sgd_with_momentum_and_a_penalty_follows_its_formula(backend: Backend, run: Run) -> None:
    with_training(backend)
    settings = {"rate": 0.1, "momentum": 0.9, "nesterov": 1.0}
    graph = linear_model(Training("mse", np.zeros((4, 2)), "l2", 0.1, "sgd", settings, 3))
    x, *parameters = (graph.leaves[name].array for name in ("x", "w", "b", "unused"))
    losses, velocities = [], [np.zeros_like(one) for one in parameters]
    for _ in range(3):
        w, b, unused = parameters
        y = x @ w.T + b
        losses.append(np.mean(y**2) + 0.1 * sum(np.sum(one**2) for one in parameters))
        gradients = [2 * y.T @ x / y.size + 0.2 * w, 2 * y.sum(0) / y.size + 0.2 * b, 0.2 * unused]
        velocities = [0.9 * v + g for v, g in zip(velocities, gradients, strict=True)]
        moved = zip(parameters, gradients, velocities, strict=True)
        parameters = [one - 0.1 * (g + 0.9 * v) for one, g, v in moved]
    result = run(graph, TRAIN)["result"]
    np.testing.assert_allclose(result["loss"], losses, 1e-6)
    for name, expected in zip(("w", "b", "unused"), parameters, strict=True):
        np.testing.assert_allclose(result[name], expected, 1e-6)


def least_squares(optimiser: str, settings: Mapping[str, float], penalty: str = "none") -> Graph:
    """Of one weight: y = w with loss (w - 1)²."""
    leaves = {"w": Leaf(PARAMETER, np.array([3.0], np.float32)), "x": Leaf(INPUT, np.array([1.0], np.float32))}
    training = Training("mse", np.array([1.0], np.float32), penalty, 0.5, optimiser, settings, 2)
    return Graph(leaves, (Node("y", "mul", ("x", "w")),), ("y",), training)


def test_training_of_one_weight_follows_the_formulas(backend: Backend, run: Run) -> None:
    with_training(backend)
    plain = {"rate": 0.1, "momentum": 0.0, "nesterov": 0.0}
    sgd = run(least_squares("sgd", plain), TRAIN)["result"]
    np.testing.assert_allclose(sgd["loss"], [4.0, 2.56], 1e-6)
    np.testing.assert_allclose(sgd["w"], [2.28], 1e-6)
    penalised = run(least_squares("sgd", plain, "l2"), TRAIN)["result"]
    np.testing.assert_allclose(penalised["loss"][0], 4.0 + 0.5 * 9.0, 1e-6)
    adam = run(least_squares("adam", {"rate": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}), TRAIN)["result"]
    np.testing.assert_allclose(adam["loss"][1], (3.0 - 0.1 * 4 / (4 + 1e-3) - 1.0) ** 2, 1e-5)


def refused(backend: Backend, optimiser: str) -> bool:
    settings = {name: values[0] for name, values in OPTIMISERS[optimiser].settings.items()}
    try:
        backend.lowering.program(least_squares(optimiser, settings), TRAIN)
    except Unsupported as error:
        assert optimiser in str(error)
        return True
    return False


def test_an_optimiser_is_unsupported_where_a_library_has_another_formula(backend: Backend) -> None:
    with_training(backend)
    assert {name for name in OPTIMISERS if refused(backend, name)} == set(backend.unlike.split())


def test_a_library_has_a_formula_of_each_of_seven_optimisers(backend: Backend) -> None:
    with_training(backend)
    had = {name.partition("_")[0] for name in OPTIMISERS if not refused(backend, name)}
    assert had == {"sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax"}


def trained_by(optimiser: str, dtype: str, seed: int) -> Graph:
    """Several steps with settings that are drawn."""
    rng, model = np.random.default_rng([seed, *optimiser.encode()]), linear_model()
    leaves = {name: Leaf(leaf.role, leaf.array.astype(dtype)) for name, leaf in model.leaves.items()}
    target, settings = rng.standard_normal((4, 2)).astype(dtype), drawn_settings(optimiser, rng)
    training = Training("mse", target, "none", 0.0, optimiser, settings, int(rng.integers(2, 6)))
    return Graph(leaves, model.nodes, model.outputs, training)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_optimiser_takes_the_steps_of_its_formula(backend: Backend, run: Run, dtype: str) -> None:
    with_training(backend)
    for optimiser in sorted(OPTIMISERS.keys() - set(backend.unlike.split())):
        tolerance = 2e-5 if dtype == "float32" or optimiser in backend.narrow.split() else 1e-12
        for seed in range(4):
            graph = trained_by(optimiser, dtype, seed)
            answer = run(graph, TRAIN)
            assert "result" in answer, answer
            for name, expected in reference.result(graph, TRAIN).items():
                apart = np.abs(answer["result"][name] - expected).max() / np.abs(expected).max()
                assert apart < tolerance, (graph.training, name, apart)


def wrong_dropout(backend: Backend, run: Run, graph: Graph, phase: str) -> str:
    """What a kernel of dropout gets wrong; "" if nothing, or where the installed release raises as is known."""
    node, answer = graph.nodes[0], run(graph, phase)
    if "unsupported" in answer or known_to_raise(backend, node.operator, answer):
        return ""
    if "error" in answer:
        return answer["error"]
    narrow = graph.leaves["x"].type.dtype == "float32" or node.operator in backend.narrow.split()
    tolerance = 0.0 if OPERATORS[node.operator].rounding is Rounding.EXACT else 2e-6 if narrow else 1e-12
    expected = reference.result(graph, phase)
    right = [
        np.allclose(answer["result"][name], array, tolerance, tolerance * 1e-24) for name, array in expected.items()
    ]
    return "" if all(right) else f"{node} is {answer['result']}, not {expected}"


@pytest.mark.parametrize("operator", sorted(operators_of("dropout")))
def test_a_kernel_of_dropout_is_right_whatever_it_draws(backend: Backend, run: Run, operator: str) -> None:
    if operator in backend.missing.split():
        pytest.skip(f"has no {operator}")
    for phase in {PREDICT, GRADIENT}.intersection(backend.lowering.phases):
        for graph, _ in zip(drawn(backend, operator, PREDICT), range(8), strict=False):
            finite = np.asarray(np.nan_to_num(graph.leaves["x"].array, nan=1.0).clip(-9, 9))
            assert wrong_dropout(backend, run, replace(graph, leaves={"x": Leaf(INPUT, finite)}), phase) == ""


def test_a_phase_that_a_lowering_does_not_have_is_unsupported(backend: Backend) -> None:
    for phase in set(PHASES) - set(backend.lowering.phases):
        with pytest.raises(Unsupported, match=phase):
            backend.lowering.program(linear_model(), phase)

"""Small results: wrong ones are found, and what good implementations lose of them by subtracting is not reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.operators.operator import Rounding
from jostle.frameworks.reference.run import result

SMALL = np.random.default_rng(0).uniform(0.5e-3, 1.5e-3, (4, 6)).astype(np.float32)
BOTH = SMALL * np.where(np.arange(24).reshape(4, 6) % 2, np.float32(1), np.float32(-1))
OVER_ROWS: Mapping[str, Any] = {"axes": [1], "keepdims": False, "correction": 0}
# operator: x and attributes
SMALL_RESULTS: Mapping[str, tuple[Array, Mapping[str, Any]]] = {
    **dict.fromkeys(("tanh", "erf", "sinh", "asinh", "atanh", "gelu", "gelu_tanh", "silu", "mish"), (BOTH, {})),
    **dict.fromkeys(("elu", "celu"), (SMALL, {"alpha": 1.0})),
    "selu": (SMALL, {}),
    "hardswish": (BOTH, {}),
    "sigmoid": (np.float32(-5) + BOTH, {}),
    "var": (BOTH, OVER_ROWS),
    "std": (BOTH, OVER_ROWS),
    "resize": (BOTH.reshape(1, 1, 4, 6), {"size": [3, 5], "mode": "linear"}),
}


def graph_of(operator: str, x: Array, attributes: Mapping[str, Any]) -> Graph:
    return Graph({"x": Leaf(INPUT, x)}, (Node("y", operator, ("x",), dict(attributes)),), ("y",))


def symptoms(graph: Graph, seen: Array) -> list[Symptom]:
    observed = {
        REFERENCE: Observation(Status.OK, result(graph, PREDICT)),
        "torch": Observation(Status.OK, {"y": seen.astype(np.float32)}),
    }
    return [one.symptom for one in compare(graph, PREDICT, observed, REFERENCE_BOUNDS)]


@pytest.mark.parametrize("operator", SMALL_RESULTS)
def test_a_thousandth_too_much_of_a_small_result_is_found(operator: str) -> None:
    graph = graph_of(operator, *SMALL_RESULTS[operator])
    right = result(graph, PREDICT)["y"]
    assert symptoms(graph, right) == []
    assert symptoms(graph, right * 1.001) == [Symptom.VALUES]


# What frameworks compute of x, in float32, where they do not care for small results.
NAIVE: Mapping[str, Callable[[Array], Array]] = {
    "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "celu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "selu": lambda x: np.float32(1.0507010) * np.where(x > 0, x, np.float32(1.6732632) * (np.exp(x) - 1)),
    "sigmoid": lambda x: 1 - 1 / (1 + np.exp(x)),
    "softplus": lambda x: np.maximum(x, 0) + (np.log(1 + np.exp(-np.abs(x)))),
    "log_sigmoid": lambda x: np.minimum(x, 0) - (np.log(1 + np.exp(-np.abs(x)))),
    "silu": lambda x: x * (1 - 1 / (1 + np.exp(x))),
    "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "gelu_tanh": lambda x: (x / 2) * (1 + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x))),
}


@pytest.mark.parametrize("operator", NAIVE)
@pytest.mark.parametrize("size", [1e-7, 1e-3, 0.1, 1.0, 10.0, 40.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_what_a_formula_loses_by_subtracting_is_not_reported(operator: str, size: float, sign: int) -> None:
    attributes = {"alpha": 1.0} if operator in ("elu", "celu") else {}
    x = (sign * size * np.random.default_rng(1).uniform(0.5, 1.5, (5, 20))).astype(np.float32)
    assert symptoms(graph_of(operator, x, attributes), NAIVE[operator](x)) == []


@pytest.mark.parametrize("mean", [0.0, 1e-3, 1.0, 30.0])
def test_a_variance_in_one_pass_is_not_reported(mean: float) -> None:
    x = (mean + np.random.default_rng(2).standard_normal((5, 40))).astype(np.float32)
    seen = (x * x).mean(1) - x.mean(1) ** 2
    assert symptoms(graph_of("var", x, OVER_ROWS), seen) == []
    assert symptoms(graph_of("std", x, OVER_ROWS), np.sqrt(seen)) == []


@pytest.mark.parametrize("operator", [name for name, one in OPERATORS.items() if one.subtracts is not None])
def test_sizes_are_known_of_any_inputs_of_an_operator_that_subtracts(operator: str) -> None:
    subtracts, rng = OPERATORS[operator].subtracts, np.random.default_rng(3)
    assert subtracts is not None
    assert OPERATORS[operator].rounding is Rounding.SATURATING
    for _ in range(20):
        graph = single(operator, rng, 0.3)
        read = [graph.leaves[name].array.astype(np.float64) for name in graph.nodes[0].inputs]
        sizes = np.asarray(subtracts(read, graph.nodes[0].attributes))
        assert sizes.shape in ((), graph.leaves["x"].type.shape)
        assert not (sizes < 0).any()


@pytest.mark.parametrize("mean", [0.0, 1.0, 20.0, 200.0])
def test_a_normalisation_by_a_variance_in_one_pass_is_not_reported(mean: float) -> None:
    x = (mean + np.random.default_rng(4).standard_normal((5, 40))).astype(np.float32)
    variance = (x * x).mean(1, keepdims=True) - x.mean(1, keepdims=True) ** 2
    seen = x / np.sqrt(variance) - x.mean(1, keepdims=True) / np.sqrt(variance)
    assert symptoms(normalised(x), seen) == []


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_thousandth_too_much_of_what_is_normalised_is_found(size: float) -> None:
    graph = normalised((size * np.random.default_rng(5).standard_normal((5, 40))).astype(np.float32))
    assert symptoms(graph, result(graph, PREDICT)["y"] * 1.001) == [Symptom.VALUES]


def normalised(x: Array) -> Graph:
    leaves = {"x": x, "scale": np.ones(x.shape[1:], np.float32), "bias": np.zeros(x.shape[1:], np.float32)}
    node = Node("y", "layer_norm", tuple(leaves), {"axis": 1, "epsilon": 1e-12})
    return Graph({name: Leaf(INPUT, array) for name, array in leaves.items()}, (node,), ("y",))


def gru_from(state: float) -> Graph:
    """One step that reads nothing, from a state that closes both gates."""
    arrays = {"x": (1, 1, 1), "w": (9, 1), "u": (9, 3), "b": (18,), "h": (1, 3)}
    leaves = {name: Leaf(INPUT, np.zeros(shape, np.float32)) for name, shape in arrays.items()}
    leaves["u"] = Leaf(INPUT, np.ones((9, 3), np.float32))
    leaves["h"] = Leaf(INPUT, np.full((1, 3), state, np.float32))
    return Graph(leaves, (Node("y", "gru_from", tuple(leaves), {"reset_after": False, "reverse": False}),), ("y",))


def test_a_gate_may_be_off_by_an_epsilon_of_the_state_that_it_multiplies() -> None:
    graph, off = gru_from(-10_000.0), np.full((1, 1, 3), 0.007)
    assert not result(graph, PREDICT)["y"].any()
    assert symptoms(graph, off) == []
    assert symptoms(graph, 100 * off) == [Symptom.VALUES]
    assert symptoms(gru_from(-100.0), off) == [Symptom.VALUES]

"""Computed zeros: nobody says which of both they are, but their slopes are judged like all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.program import GRADIENT, PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.reference.run import result

ALL = {"axes": [1], "keepdims": False}
ZEROS, MIXED = [[0.0, 0.0, 0.0]], [[1.5, 0.0, -2.0]]
# operator: its inputs and attributes; element 1 of the first input meets a computed zero
AT_A_ZERO: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]] = {
    "sin": ([MIXED], {}),
    "tanh": ([MIXED], {}),
    "sinh": ([MIXED], {}),
    "erf": ([MIXED], {}),
    "expm1": ([MIXED], {}),
    "softsign": ([MIXED], {}),
    "silu": ([MIXED], {}),
    "mul": ([MIXED, [[2.0, 3.0, 4.0]]], {}),
    "sub": ([MIXED, MIXED], {}),
    "div": ([MIXED, [[2.0, 3.0, 4.0]]], {}),
    "prod": ([MIXED], ALL),
    "cumprod": ([MIXED], {"axis": 1}),
    "sum": ([ZEROS], ALL),
    "matmul": ([MIXED, [[0.0], [1.0], [0.0]]], {}),
}


def single(operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Graph:
    leaves = {f"x{at}": Leaf(INPUT, np.asarray(array, np.float32)) for at, array in enumerate(inputs)}
    return Graph(leaves, (Node("y", operator, tuple(leaves), dict(attributes)),), ("y",))


def then(graph: Graph, operator: str, *more: Array) -> Graph:
    """The graph with one node more, which reads what it computes and these constants."""
    leaves = {f"c{at}": Leaf(INPUT, array) for at, array in enumerate(more)}
    node = Node("z", operator, ("y", *leaves), {})
    return Graph({**graph.leaves, **leaves}, (*graph.nodes, node), ("z",))


def symptoms(graph: Graph, phase: str, seen: Mapping[str, Array]) -> list[Symptom]:
    right = result(graph, phase)
    narrowed = {name: np.asarray(seen.get(name, array), np.float32) for name, array in right.items()}
    observed = {REFERENCE: Observation(Status.OK, right), "torch": Observation(Status.OK, narrowed)}
    return [one.symptom for one in compare(graph, phase, observed, REFERENCE_BOUNDS)]


@pytest.mark.parametrize("operator", AT_A_ZERO)
def test_a_wrong_slope_through_a_computed_zero_is_found(operator: str) -> None:
    graph = single(operator, *AT_A_ZERO[operator])
    slopes = np.array(result(graph, GRADIENT)["d_x0"])
    assert slopes[0, 1] != 0
    assert symptoms(graph, GRADIENT, {}) == []
    slopes[0, 1] *= 1.5
    assert symptoms(graph, GRADIENT, {"d_x0": slopes}) == [Symptom.GRADIENT]


@pytest.mark.parametrize("operator", AT_A_ZERO)
@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
def test_the_other_zero_is_never_reported(operator: str, phase: str) -> None:
    graph = single(operator, *AT_A_ZERO[operator])
    value = result(graph, phase)["y"]
    assert (value == 0).any()
    assert symptoms(graph, phase, {"y": np.where(value == 0, -value, value)}) == []


@pytest.mark.parametrize(
    ("operator", "constants"),
    [("reciprocal", []), ("atan2", [[[-1.0, -1.0, -1.0]]]), ("rsqrt", [])],
)
@pytest.mark.parametrize("first", ["sin", "mul", "cumprod", "relu", "ceil"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_what_only_the_sign_of_a_computed_zero_decides_is_not_reported(
    operator: str, constants: Sequence[Any], first: str, zero: float
) -> None:
    inputs, attributes = AT_A_ZERO.get(first, ([MIXED], {}))
    taken = [[[1.5, zero, 2.0]], *inputs[1:]]
    graph = then(single(first, taken, attributes), operator, *(np.asarray(one, np.float32) for one in constants))
    other = result(then(_negated_at_zeros(first, taken, attributes), operator, *map(np.float32, constants)), PREDICT)
    assert symptoms(graph, PREDICT, other) == []


def _negated_at_zeros(operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Graph:
    """What makes the same numbers, but every zero the other one."""
    value = result(single(operator, inputs, attributes), PREDICT)["y"]
    return single("clip", [np.where(value == 0, -value, value)], {"low": -100.0, "high": 100.0})

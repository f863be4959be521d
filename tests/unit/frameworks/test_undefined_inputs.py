"""Inputs without a meaning: who raises on them is not wrong, only who dies of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jostle.foreign import Crash
from jostle.frameworks.backends.program import GRADIENT, PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.graph import CONSTANT, INPUT, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.reference.run import result
from jostle.frameworks.reference.undefined import Undefined

RAISED = Crash("IndexError", "index out of range in self", "indexing.py:1", "")


def indexing(operator: str, shape: tuple[int, ...], index: int) -> Graph:
    """One index along the first axis."""
    leaves = {"x": Leaf(INPUT, np.ones(shape, np.float32))}
    of_all = (1,) if operator == "take" else (1, *shape[1:])
    leaves["at"] = Leaf(CONSTANT, np.full(of_all, index, np.int64))
    attributes: dict[str, Any] = {"axis": 0}
    if operator == "scatter":
        leaves["more"] = Leaf(INPUT, np.ones(of_all, np.float32))
        attributes["reduction"] = "add"
    return Graph(leaves, (Node("y", operator, tuple(leaves), attributes),), ("y",))


def max_pool(size: int) -> Graph:
    """A window of two taps, one pixel before an image and one after its first."""
    attributes = {"kernel": [2], "strides": [9], "padding": [1], "dilations": [2], "ceil": False}
    leaves = {"x": Leaf(INPUT, np.ones((1, 1, size), np.float32))}
    return Graph(leaves, (Node("y", "max_pool", ("x",), attributes),), ("y",))


def eigenvalues(value: float) -> Graph:
    leaves = {"x": Leaf(INPUT, np.full((2, 2), value))}
    return Graph(leaves, (Node("y", "symmetric_eigenvalues", ("x",)),), ("y",))


def solve(diagonal: float) -> Graph:
    """Two equations, each of one unknown."""
    leaves = {"x": Leaf(INPUT, np.eye(2, dtype=np.float32) * np.float32(diagonal))}
    leaves["b"] = Leaf(INPUT, np.ones((2, 1), np.float32))
    return Graph(leaves, (Node("y", "solve", ("x", "b")),), ("y",))


MEANINGLESS = {
    **{
        f"{operator} {shape} {index}": indexing(operator, shape, index)
        for operator in ("take", "gather", "scatter")
        for shape in ((3,), (3, 2))
        for index in (3, -1)
    },
    "take of nothing": indexing("take", (3, 0), 3),
    "max_pool": max_pool(1),
    "sums of the matrix are infinite": eigenvalues(1.7e308),
    "solve": solve(0),
}
MEANT = {
    "take of nothing": indexing("take", (3, 0), 2),
    "take": indexing("take", (3, 2), 2),
    "max_pool": max_pool(2),
    "sums of the matrix are finite": eigenvalues(1e30),
    "solve": solve(1),
}


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
@pytest.mark.parametrize("name", MEANINGLESS)
def test_such_inputs_have_no_result(name: str, phase: str) -> None:
    with pytest.raises(Undefined):
        result(MEANINGLESS[name], phase)


@pytest.mark.parametrize("name", MEANT)
def test_those_at_the_edge_have_one(name: str) -> None:
    assert np.isfinite(result(MEANT[name], PREDICT)["y"]).all()


@pytest.mark.parametrize("fatal", [False, True])
@pytest.mark.parametrize("name", MEANINGLESS)
def test_only_a_process_that_dies_of_them_is_reported(name: str, fatal: bool) -> None:
    try:
        reference = Observation(Status.OK, result(MEANINGLESS[name], PREDICT))
    except Undefined as error:
        reference = Observation(Status.UNDEFINED, reason=str(error))
    crash = Crash("SIGSEGV", "ended the process", "the target", "", fatal=True) if fatal else RAISED
    observed = {REFERENCE: reference, "torch": Observation(Status.CRASHED, crash=crash)}
    found = compare(MEANINGLESS[name], PREDICT, observed, REFERENCE_BOUNDS)
    assert [one.symptom for one in found] == ([Symptom.CRASH] if fatal else [])

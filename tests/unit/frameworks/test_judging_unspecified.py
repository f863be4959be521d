"""What documentation leaves open of NaN is a symptom of its own, told apart from what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from frameworks_planted import REFERENCE_BOUNDS, InProcess, Planted
from jostle.frameworks.backends.program import GRADIENT, PREDICT
from jostle.frameworks.campaign import examiner
from jostle.frameworks.campaign.examiner import Examiner
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare, judge
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.reduction.reduce import SameDefect
from jostle.frameworks.reference.run import result

# relu that makes 0 of NaN, which ONNX leaves open and torch does not, and one that is wrong whatever it reads.
SWALLOWING = Planted(wrong=(("relu", lambda call: f"torch.fmax({call[0]}, torch.zeros(1))"),))
WRONG = Planted(wrong=(("relu", lambda call: f"F.relu({call[0]}) * 1.01"),))
CRASHING = Planted(wrong=(("relu", lambda call: "1 / 0"),))


def graph_of(*values: float) -> Graph:
    x = np.array(values, np.float32)
    nodes = (Node("a", "abs", ("x",)), Node("y", "relu", ("a",)))
    return Graph({"x": Leaf(INPUT, x)}, nodes, ("y",))


WITH_NAN, FINITE = graph_of(1.0, np.nan, -2.0), graph_of(1.0, 3.0, -2.0)


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
def test_what_onnx_leaves_open_is_unspecified_and_nothing_else(phase: str) -> None:
    runner = InProcess({"onnxruntime": SWALLOWING, "jax": Planted()})
    (observed,) = runner.run([WITH_NAN], phase)
    verdict = judge(WITH_NAN, phase, observed, REFERENCE_BOUNDS)
    assert [(one.backend, one.symptom) for one in verdict.unspecified] == [("onnxruntime", Symptom.UNSPECIFIED)]
    assert verdict.found == verdict.doubted == ()


def test_the_same_is_wrong_where_it_is_specified() -> None:
    runner = InProcess({"torch": SWALLOWING})
    (observed,) = runner.run([WITH_NAN], PREDICT)
    verdict = judge(WITH_NAN, PREDICT, observed, REFERENCE_BOUNDS)
    assert [one.symptom for one in verdict.found] == [Symptom.NONFINITE]
    assert verdict.unspecified == ()


def test_wrong_values_without_nan_and_crashes_with_it_are_never_unspecified() -> None:
    for graph, lowering, symptom in ((FINITE, WRONG, Symptom.VALUES), (WITH_NAN, CRASHING, Symptom.CRASH)):
        (observed,) = InProcess({"onnxruntime": lowering}).run([graph], PREDICT)
        assert [one.symptom for one in compare(graph, PREDICT, observed, REFERENCE_BOUNDS)] == [symptom]


def test_it_is_counted_and_a_defect_only_if_asked_for() -> None:
    runner = InProcess({"onnxruntime": SWALLOWING})
    (observed,) = runner.run([WITH_NAN], PREDICT)
    silent, asked = Examiner(runner, []), Examiner(runner, [], report_unspecified=True)
    assert silent(WITH_NAN, PREDICT, observed).faults == ()
    (fault,) = asked(WITH_NAN, PREDICT, observed).faults
    assert fault.signature.text.startswith("onnxruntime predict unspecified relu ")
    assert silent.unspecified == asked.unspecified == 1
    assert SameDefect(fault.signature, runner, REFERENCE_BOUNDS)([WITH_NAN, FINITE, fault.part]) == [True, False, True]
    known = Examiner(runner, [KnownIssue("* unspecified *", "left open")], report_unspecified=True)
    assert known(WITH_NAN, PREDICT, observed).faults == ()


def lstm_of(state_weight: float) -> Graph:
    arrays = {"x": (1, 1, 1), "w": (4, 1), "u": (4, 1), "b": (4,), "c": (4,)}
    leaves = {name: Leaf(INPUT, np.zeros(shape, np.float32)) for name, shape in arrays.items()}
    leaves["u"] = Leaf(INPUT, np.full((4, 1), state_weight, np.float32))
    return Graph(leaves, (Node("y", "lstm", tuple(leaves)),), ("y",))


def softmax_of(*values: float) -> Graph:
    x = np.array(values, np.float32)
    return Graph({"x": Leaf(INPUT, x)}, (Node("y", "softmax", ("x",), {"axis": 0}),), ("y",))


# What is computed, and what a backend makes of it.
INFINITE = {
    "infinite weights of a state of zeros": (lstm_of(np.inf), [[[1.0]]]),
    "infinity beside numbers": (softmax_of(np.inf, 1.0), [np.nan, 0.0]),
}
SPECIFIED = {
    "weights of a state": (lstm_of(1.0), [[[1.0]]]),
    "masked numbers": (softmax_of(-np.inf, 1.0), [1.0, 1.0]),
    "NaN beside numbers": (softmax_of(np.nan, 1.0), [np.nan, 0.0]),
}


def is_found(graph: Graph, made: list[float], backend: str) -> tuple[bool, bool]:
    """Whether it is told among what is wrong, and among what is unspecified."""
    seen = Observation(Status.OK, {"y": np.array(made, np.float32)})
    observed = {REFERENCE: Observation(Status.OK, result(graph, PREDICT)), backend: seen}
    verdict = judge(graph, PREDICT, observed, examiner.REFERENCE_BOUNDS)
    return bool(verdict.found), bool(verdict.unspecified)


@pytest.mark.parametrize("name", INFINITE)
def test_what_onnx_leaves_open_of_infinities_is_unspecified_of_those_who_run_it(name: str) -> None:
    for backend in ("onnxruntime", "openvino"):
        assert is_found(*INFINITE[name], backend) == (False, True)
    assert is_found(*INFINITE[name], "torch") == (True, False)


@pytest.mark.parametrize("name", SPECIFIED)
def test_what_it_says_is_wrong_of_all(name: str) -> None:
    for backend in ("onnxruntime", "openvino", "torch"):
        assert is_found(*SPECIFIED[name], backend) == (True, False)


@pytest.mark.parametrize(
    ("backend", "values", "seen", "symptom"),
    [
        ("tensorflow", [1.0, np.nan], [0.5, 0.0], Symptom.UNSPECIFIED),
        ("torch", [1.0, np.nan], [0.5, 0.0], Symptom.NONFINITE),
        ("tensorflow", [1.0, 2.0], [0.5, np.nan], Symptom.NONFINITE),
    ],
)
def test_keras_documents_0_for_nan_in_soft_shrink(
    backend: str, values: list[float], seen: list[float], symptom: Symptom
) -> None:
    node = Node("y", "softshrink", ("x",), {"threshold": 0.5})
    graph = Graph({"x": Leaf(INPUT, np.array(values, np.float32))}, (node,), ("y",))
    observed = {
        REFERENCE: Observation(Status.OK, result(graph, PREDICT)),
        backend: Observation(Status.OK, {"y": np.array(seen, np.float32)}),
    }
    verdict = judge(graph, PREDICT, observed, examiner.REFERENCE_BOUNDS)
    assert [one.symptom for one in (*verdict.found, *verdict.unspecified)] == [symptom]


@pytest.mark.parametrize("backend", ["jax", "torch", "tensorflow"])
@pytest.mark.parametrize("operator", ["xlogy", "xlog1py"])
def test_nothing_times_a_logarithm_of_nan_is_nan_unless_documented_otherwise(operator: str, backend: str) -> None:
    leaves = {"a": Leaf(INPUT, np.zeros(2, np.float32)), "b": Leaf(INPUT, np.array([np.nan, 3.0], np.float32))}
    graph = Graph(leaves, (Node("y", operator, ("a", "b")),), ("y",))
    assert np.isnan(result(graph, PREDICT)["y"]).tolist() == [True, False]
    documented = backend == "tensorflow"
    assert is_found(graph, [0.0, 0.0], backend) == (not documented, documented)

"""Who is named wrong, who is not, and how a finding is written down."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from frameworks_planted import REFERENCE_BOUNDS, InProcess, Planted, result
from jostle.errors import UsageError
from jostle.foreign import Crash
from jostle.frameworks import judging
from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.backends.program import GRADIENT, PREDICT
from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare, judge
from jostle.frameworks.judging.disagreement import Disagreement, Symptom, family_of
from jostle.frameworks.judging.documented import NAN_UNSPECIFIED
from jostle.frameworks.judging.known_issues import known_as, known_in
from jostle.frameworks.judging.locate import Located
from jostle.frameworks.judging.signature import frame_of, signature_of
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reduction.issue import Report, issue_text
from jostle.frameworks.reduction.script import array_literal, script
from jostle.graph_signature import Signature, parse

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
FAILED = Observation(Status.CRASHED, crash=Crash("RuntimeError", "bad 7 at 0x7f", "pool.cpp:12", ""))


def graph_of(operator: str, array: Array = X) -> Graph:
    return Graph({"x": Leaf(INPUT, array)}, (Node("y", operator, ("x",)),), ("y",))


def ok(values: Array) -> Observation:
    return Observation(Status.OK, {"y": values})


def judged(graph: Graph, **observations: Observation) -> list[tuple[str, Symptom]]:
    observed = {REFERENCE: ok(result(graph, PREDICT, 0)["y"]), **observations}
    return [(one.backend, one.symptom) for one in compare(graph, PREDICT, observed, REFERENCE_BOUNDS)]


SIN, RIGHT = graph_of("sin"), np.sin(X)


def test_a_crash_is_reported_if_the_reference_or_a_peer_runs() -> None:
    assert judged(SIN, torch=FAILED, jax=ok(RIGHT)) == [("torch", Symptom.CRASH)]
    assert judged(SIN, torch=FAILED) == [("torch", Symptom.CRASH)]
    assert judged(SIN, torch=FAILED, jax=FAILED) == []
    assert judged(SIN, torch=Observation(Status.HUNG)) == [("torch", Symptom.HANG)]


def test_the_unsupported_and_the_undefined_are_never_reported() -> None:
    assert judged(SIN, torch=Observation(Status.UNSUPPORTED), jax=ok(RIGHT)) == []
    observed = {REFERENCE: Observation(Status.UNDEFINED), "torch": FAILED, "jax": ok(RIGHT + 1)}
    assert compare(SIN, PREDICT, observed, REFERENCE_BOUNDS) == []


def test_another_shape_or_dtype_is_reported_whatever_the_values() -> None:
    assert judged(SIN, torch=ok(RIGHT.astype(np.float64))) == [("torch", Symptom.TYPE)]
    assert judged(SIN, torch=ok(RIGHT.reshape(4, 3))) == [("torch", Symptom.TYPE)]
    assert judged(SIN, torch=Observation(Status.OK, {})) == [("torch", Symptom.TYPE)]


def test_one_wrong_element_is_reported_and_its_place() -> None:
    wrong = RIGHT.copy()
    wrong[1, 2] *= 1.001
    observed = {REFERENCE: ok(np.sin(X.astype(np.float64))), "torch": ok(wrong), "jax": ok(RIGHT)}
    (found,) = compare(SIN, PREDICT, observed, REFERENCE_BOUNDS)
    assert (found.backend, found.tensor, found.index) == ("torch", "y", (1, 2))


def test_nan_is_a_symptom_of_its_own() -> None:
    wrong = RIGHT.copy()
    wrong[0, 0] = np.nan
    assert judged(SIN, torch=ok(wrong), jax=ok(RIGHT)) == [("torch", Symptom.NONFINITE)]


def test_most_peers_decide_on_nan() -> None:
    wrong = RIGHT.copy()
    wrong[0, 0] = np.nan
    assert judged(SIN, torch=ok(wrong), jax=ok(wrong), paddle=ok(RIGHT)) == []


def test_nan_in_operators_that_compare_is_what_onnx_leaves_open() -> None:
    array = X.copy()
    array[0, 0] = np.nan
    swallowed = np.fmax(array, 0)
    assert judged(graph_of("relu", array), onnxruntime=ok(swallowed)) == []
    assert judged(graph_of("relu", array), torch=ok(swallowed)) == [("torch", Symptom.NONFINITE)]


@pytest.mark.parametrize("seen", [0.0, np.inf, -np.inf, np.nan])
def test_the_order_of_a_sum_beyond_all_numbers_is_free(seen: float) -> None:
    """As is its overflow, but not what becomes of an input that is infinite, or of an operator that overflows alone."""
    attributes = {"axes": [0], "keepdims": True}
    for values, free in (([1e308, 1e308, -1e308, -1e308], True), ([np.inf, 1.0, 2.0, 3.0], seen == np.inf)):
        graph = Graph({"x": Leaf(INPUT, np.array(values))}, (Node("y", "sum", ("x",), attributes),), ("y",))
        assert (judged(graph, torch=ok(np.array([seen]))) == []) is free
    assert (judged(graph_of("exp", np.array([1000.0])), torch=ok(np.array([seen]))) == []) is (seen == np.inf)


def test_what_documentation_leaves_open_is_said_of_operators_and_families_that_exist() -> None:
    assert set(NAN_UNSPECIFIED) <= {family_of(name) for name in LOWERINGS}
    assert all(set(operators) <= set(OPERATORS) for operators in NAN_UNSPECIFIED.values())


def test_the_judge_names_no_operators_but_those_that_it_adds_to_move_results() -> None:
    named = set[str]()
    for path in Path(judging.__file__).parent.glob("*.py"):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts = (node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str))
        named |= set(texts) & set(OPERATORS)
    assert named == {"add", "mul", "sub", "sum", "where"}


def test_a_normalisation_by_a_variance_has_an_epsilon() -> None:
    normalising = [one for one in OPERATORS.values() if one.variance is not None]
    assert len(normalising) == 9
    assert all("epsilon" in one.domains for one in normalising)


def test_three_families_against_the_reference_cast_doubt_on_it() -> None:
    others = {name: ok(RIGHT + np.float32(0.1)) for name in ("torch", "torch-aot", "jax", "paddle")}
    verdict = judge(SIN, PREDICT, {REFERENCE: ok(np.sin(X.astype(np.float64))), **others}, REFERENCE_BOUNDS)
    assert not verdict.found
    assert {one.backend for one in verdict.doubted} == set(others)


def test_members_of_one_family_are_one_voice() -> None:
    wrong = ok(RIGHT + np.float32(0.1))
    others = {"torch": wrong, "torch-aot": wrong, "torch-inductor": wrong, "jax": ok(RIGHT), "onnxruntime": ok(RIGHT)}
    assert [name for name, _ in judged(SIN, **others)] == ["torch", "torch-aot", "torch-inductor"]


def test_a_jump_is_reported_where_nothing_was_rounded_and_not_where_something_was() -> None:
    whole = np.array([[1.0, 2.0]], np.float32)
    assert judged(graph_of("floor", whole), torch=ok(np.array([[0.0, 2.0]], np.float32))) != []
    square = Graph(
        {"x": Leaf(INPUT, np.array([1.0, 1.5], np.float32))},
        (Node("s", "square", ("x",)), Node("y", "floor", ("s",))),
        ("y",),
    )
    assert judged(square, torch=ok(np.array([0.0, 2.0], np.float32))) == []


def test_a_gradient_is_not_reported_where_there_is_none() -> None:
    graph = graph_of("abs", np.zeros((2, 2), np.float32))
    cotangent = np.ones((2, 2), np.float32)
    observed = {
        REFERENCE: Observation(Status.OK, result(graph, GRADIENT, 0)),
        "torch": Observation(Status.OK, {"y": np.zeros((2, 2), np.float32), "d_x": cotangent}),
    }
    assert compare(graph, GRADIENT, observed, REFERENCE_BOUNDS) == []
    smooth = graph_of("sin")
    observed = {
        REFERENCE: Observation(Status.OK, result(smooth, GRADIENT, 0)),
        "torch": Observation(Status.OK, {"y": RIGHT, "d_x": np.ones_like(X)}),
    }
    assert [one.symptom for one in compare(smooth, GRADIENT, observed, REFERENCE_BOUNDS)] == [Symptom.GRADIENT]


def test_a_signature_is_read_as_it_is_written() -> None:
    attributes = {"kernel": [2, 2], "strides": [2, 1], "padding": [0, 0], "ceil": True, "include_pad": False}
    image = Leaf(INPUT, np.ones((1, 1, 4, 4), np.float32))
    graph = Graph({"x": image}, (Node("y", "avg_pool", ("x",), attributes),), ("y",))
    found = Disagreement("torch", PREDICT, Symptom.CRASH, crash=FAILED.crash)
    signature = signature_of(Located("avg_pool", graph, found), found)
    assert signature.text == "torch predict crash avg_pool ceil=True,strides>1 float32 RuntimeError@pool.cpp:#"
    assert parse(signature.text) == signature
    with pytest.raises(ValueError, match="7"):
        parse("torch predict")


def test_a_frame_does_not_depend_on_numbers() -> None:
    assert frame_of(Crash("E", "", "a 0x1f:12", "")) == frame_of(Crash("E", "", "a 0x2a:7", ""))


def test_known_findings_are_recognised_by_pattern_and_need_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[known]]\nsignature = "torch predict values avg_pool *"\nreason = "issue 1"\n')
    known = known_in(path)
    assert known_as(Signature("torch", "predict", "values", "avg_pool", "ceil=True", "float32"), known) == known[0]
    assert known_as(Signature("torch", "predict", "values", "max_pool"), known) is None


@pytest.mark.parametrize(
    "text",
    [
        '[[known]]\nsignature = "a"\n',
        '[[known]]\nsignature = "a"\nreason = " "\n',
        '[[known]]\nsignature = "a"\nreason = "b"\nwhy = 1\n',
        '[[other]]\nsignature = "a"\n',
        "known = 3\n",
        "known = [3]\n",
        "[[known",
    ],
)
def test_a_wrong_list_of_known_findings_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        known_in(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.nan], [-0.0, -np.inf]], np.float32),
        np.zeros((2, 0), np.int64),
        np.array(True),
        np.full((3, 2), 0.1, np.float32),
        np.random.default_rng(0).standard_normal((20, 20)),
        np.array([0.0, -0.0]),
    ],
)
def test_a_literal_is_the_array(array: Array) -> None:
    import base64

    read = eval(array_literal(array), {"np": np, "base64": base64})
    assert read.dtype == array.dtype
    assert read.shape == array.shape
    assert read.tobytes() == array.tobytes()


def test_a_script_fails_until_the_framework_is_mended(tmp_path: Path) -> None:
    wrong = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.001"),))
    runner = InProcess({"planted": wrong})
    (observed,) = runner.run([SIN], PREDICT)
    (found,) = compare(SIN, PREDICT, observed, REFERENCE_BOUNDS)
    text = script(SIN, PREDICT, wrong, observed[REFERENCE].arrays, observed["planted"].arrays)
    path = tmp_path / "reproduce.py"
    path.write_text(text)
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "Max absolute difference" in ran.stderr
    assert "AssertionError" in ran.stderr
    exec(text.replace("1.001", "1.0"), {})
    issue = issue_text(Report(SIN, found, "sin", "float32", wrong.program(SIN, PREDICT), text, {"torch": "2.13"}))
    assert issue.startswith("# planted: sin of float32 computes wrong values")
    assert "torch.sin(x)" in issue
    assert "2.13" in issue


def test_a_script_tells_errors_as_small_as_those_of_float64() -> None:
    graph = graph_of("sin", X.astype(np.float64))
    expected = {"y": np.sin(X.astype(np.float64))}
    slightly = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * (1 + 1e-8)"),))
    text = script(graph, PREDICT, slightly, expected, {"y": expected["y"] * (1 + 1e-8)})
    with pytest.raises(AssertionError):
        exec(text, {})
    exec(text.replace("1e-8", "0"), {})


@pytest.mark.parametrize(
    ("backend", "family"),
    [
        ("torch", "torch"),
        ("torch-inductor", "torch"),
        ("onnxruntime-plain", "onnx"),
        ("onnxruntime@/opt/old-python/bin/python", "onnx"),
        ("openvino", "openvino"),
    ],
)
def test_versions_and_ways_of_one_framework_are_one_family(backend: str, family: str) -> None:
    assert family_of(backend) == family

"""Compiled backends beside eager mode: what float64 excuses is found, and what a compiler may change is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from frameworks_planted import REFERENCE_BOUNDS, InProcess, Planted, random_graph
from jostle.frameworks.backends.program import GRADIENT, PREDICT, Call, Expression
from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.eager_twin import EAGER, eager_twin, witnesses
from jostle.frameworks.judging.locate import Patience, locate
from jostle.frameworks.judging.signature import signature_of
from jostle.frameworks.observations import REFERENCE
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.operators.operator import Rounding
from jostle.frameworks.reduction.issue import Report, issue_text
from jostle.frameworks.reduction.reduce import SameDefect
from jostle.frameworks.reduction.script import script

ROOTS = np.sqrt(np.arange(1, 41)).astype(np.float32).reshape(5, 8)  # whose squares lie next to whole numbers


def jumping(first: str, then: str, **attributes: str) -> Graph:
    """A jump next to which rounding decides."""
    more = {"c": np.arange(1, 41).astype(np.float32).reshape(5, 8)} if then == "less" else {}
    leaves = {name: Leaf(INPUT, array) for name, array in ({"x": ROOTS} | more).items()}
    return Graph(leaves, (Node("a", first, ("x",)), Node("y", then, ("a", *more), attributes)), ("y",))


JUMPS = {
    "floor": (jumping("square", "floor"), lambda call: f"torch.floor({call[0]} * (1 + 2**-20))"),
    "less": (jumping("square", "less"), lambda call: f"{call[0]} * (1 - 2**-20) < {call[1]}"),
    "cast": (jumping("square", "cast", to="int32"), lambda call: f"({call[0]} * (1 + 2**-20)).to(torch.int32)"),
}
SLIGHTLY = "1.00002"


def found(graph: Graph, compiled: Planted, phase: str = PREDICT, eager: Planted | None = None) -> list[tuple[str, str]]:
    runner = InProcess({"torch": eager or Planted(), "torch-aot": compiled})
    (observed,) = runner.run([graph], phase)
    return [(one.backend, one.symptom) for one in compare(graph, phase, observed, REFERENCE_BOUNDS)]


@pytest.mark.parametrize("operator", JUMPS)
def test_what_is_computed_alike_is_equal_beyond_jumps(operator: str) -> None:
    graph, wrong = JUMPS[operator]
    alone = InProcess({"torch-aot": Planted(wrong=((operator, wrong),))})
    (observed,) = alone.run([graph], PREDICT)
    assert compare(graph, PREDICT, observed, REFERENCE_BOUNDS) == []
    assert found(graph, Planted(wrong=((operator, wrong),))) == [("torch-aot", Symptom.COMPILED)]
    assert found(graph, Planted()) == []


@pytest.mark.parametrize("operator", JUMPS)
def test_beyond_jumps_what_a_compiler_may_approximate_is_not_reported(operator: str) -> None:
    graph = JUMPS[operator][0]
    graph = replace(graph, nodes=(replace(graph.nodes[0], operator="exp"), graph.nodes[1]))
    exp = ("exp", lambda call: f"torch.exp({call[0]}.double()).float()")
    assert found(graph, Planted(wrong=(exp,))) == []


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
def test_values_that_other_libraries_may_have_are_not_those_of_eager_mode(phase: str) -> None:
    graph = Graph({"x": Leaf(INPUT, ROOTS)}, (Node("y", "sin", ("x",)),), ("y",))
    compiled = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * {SLIGHTLY}"),))
    (observed,) = InProcess({"torch-aot": compiled}).run([graph], phase)
    assert compare(graph, phase, observed, REFERENCE_BOUNDS) == []
    assert found(graph, compiled, phase) == [("torch-aot", Symptom.COMPILED)]
    assert found(graph, compiled, phase, eager=compiled) == []


def test_what_is_wrong_of_eager_mode_is_not_told_of_the_compiled() -> None:
    graph = Graph({"x": Leaf(INPUT, ROOTS)}, (Node("y", "sin", ("x",)),), ("y",))
    wrong = Planted(wrong=(("sin", lambda call: f"torch.sin({call[0]}) * 1.01"),))
    assert found(graph, Planted(), eager=wrong) == [("torch", Symptom.VALUES)]


def reversed_sum(call: Call) -> str:
    axes = call.literal("axes")
    return f"{call[0]}.flip({axes}).sum(dim={axes}, keepdim={call.literal('keepdims')})"


def in_double(function: str) -> Expression:
    return lambda call: f"{function}({call[0]}.double()).to({call[0]}.dtype)"


# What a compiler may do: sum in another order, and keep more precision than eager mode.
OTHERWISE = Planted(
    wrong=(
        ("sum", reversed_sum),
        ("matmul", lambda call: f"({call[0]}.double() @ {call[1]}.double()).to({call[0]}.dtype)"),
        ("softmax", lambda call: f"torch.softmax({call[0]}.double(), 1).to({call[0]}.dtype)"),
        *((name, in_double(f"torch.{name}")) for name in ("exp", "sin", "tanh", "sigmoid", "log")),
    )
)


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
def test_other_orders_and_approximations_are_never_reported(phase: str) -> None:
    runner = InProcess({"torch": Planted(), "torch-aot": OTHERWISE})
    differed = 0
    for seed in range(120):
        graph = random_graph(np.random.default_rng(seed), length=6)
        (observed,) = runner.run([graph], phase)
        assert compare(graph, phase, observed, REFERENCE_BOUNDS) == [], seed
        differed += not _same(observed["torch"].arrays, observed["torch-aot"].arrays)
    assert differed > 20


def _same(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    return all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


def test_it_is_located_and_reduced_beside_eager_mode() -> None:
    graph, wrong = JUMPS["floor"]
    compiled = Planted(wrong=(("floor", wrong),))
    runner = InProcess({"torch": Planted(), "torch-aot": compiled})
    (observed,) = runner.run([graph], PREDICT)
    (one,) = compare(graph, PREDICT, observed, REFERENCE_BOUNDS)
    (located,) = locate(graph, one, runner, REFERENCE_BOUNDS, Patience())
    signature = signature_of(located, one)
    assert signature.text.startswith("torch-aot predict compiled square+floor ")
    assert SameDefect(signature, runner, REFERENCE_BOUNDS)([graph]) == [True]

    text = script(graph, PREDICT, compiled, observed["torch"].arrays, observed["torch-aot"].arrays, eager=True)
    with pytest.raises(AssertionError, match="Max absolute difference"):
        exec(text, {})
    exec(text.replace(" * (1 + 2**-20)", ""), {})
    report = Report(graph, one, signature.operator, signature.dtype, "", text, {"torch": "2.13"})
    assert "as torch computes it" in issue_text(report)


def test_compiled_backends_run_beside_the_eager_one_of_their_interpreter() -> None:
    assert eager_twin("torch-inductor@/opt/python") == "torch@/opt/python"
    assert eager_twin("torch") is None
    assert witnesses(Symptom.VALUES, "torch-aot") == [REFERENCE, "torch-aot"]
    assert witnesses(Symptom.COMPILED, "torch-aot") == [REFERENCE, "torch-aot", EAGER["torch-aot"]]


@pytest.mark.parametrize("operator", [name for name, one in OPERATORS.items() if one.rounding is Rounding.ONCE])
def test_what_is_rounded_once_is_the_float64_result_rounded(operator: str) -> None:
    rng = np.random.default_rng(0)
    read = [rng.uniform(0.5, 2, 1000).astype(np.float32) for _ in range(1 if operator in ("square", "sqrt") else 2)]
    function = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "square": np.square,
        "sqrt": np.sqrt,
    }
    wide = function[operator](*(one.astype(np.float64) for one in read))
    assert np.array_equal(function[operator](*read), wide.astype(np.float32))

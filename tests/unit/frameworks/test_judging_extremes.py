"""Numbers at the edges of what floats hold never keep the judge from judging."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from changed_leaves import with_leaves
from jostle.frameworks.backends.program import GRADIENT, PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, Node
from jostle.frameworks.judging.compare import compare, judge
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reference.run import result
from jostle.frameworks.reference.undefined import Undefined

EXTREMES: Mapping[str, Callable[[Array], Array]] = {
    "huge float32": lambda x: x * np.float32(1e38),
    "huge float64": lambda x: x.astype(np.float64) * 1e300,
    "tiny float64": lambda x: x.astype(np.float64) * 1e-300,
    "zero": np.zeros_like,
}


@pytest.mark.parametrize("phase", [PREDICT, GRADIENT])
@pytest.mark.parametrize("extreme", EXTREMES)
def test_a_disagreement_about_extreme_numbers_is_judged(extreme: str, phase: str) -> None:
    judged = 0
    for operator in OPERATORS:
        graph = with_leaves(
            single(operator, np.random.default_rng(0)), EXTREMES[extreme], lambda leaf: leaf.type.is_float
        )
        try:
            right = {} if graph is None else result(graph, phase)
        except Undefined:
            continue
        if graph is None:
            continue
        with np.errstate(all="ignore"):
            wrong = {name: np.asarray(values + 1, graph.leaves["x"].array.dtype) for name, values in right.items()}
        judge(
            graph,
            phase,
            {REFERENCE: Observation(Status.OK, right), "torch": Observation(Status.OK, wrong)},
            REFERENCE_BOUNDS,
        )
        judged += 1
    assert judged > 50


def sum_of(*values: float) -> Graph:
    leaves = {"x": Leaf(INPUT, np.array(values))}
    twice = Node("a", "mul_scalar", ("x",), {"scalar": 2})
    return Graph(leaves, (twice, Node("y", "sum", ("a",), {"axes": [0], "keepdims": False})), ("y",))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((1.7e308, -1.7e308), []),  # the reference subtracts infinities, who halves before does not
        ((1.7e308, -1.7e308, np.nan), [Symptom.NONFINITE]),
        ((np.inf, -np.inf), [Symptom.NONFINITE]),
    ],
    ids=["overflow", "NaN", "infinities"],
)
def test_nan_is_not_expected_where_only_overflow_makes_it(values: tuple[float, ...], found: list[Symptom]) -> None:
    graph = sum_of(*values)
    right = result(graph, PREDICT)
    assert np.isnan(right["y"])
    seen = Observation(Status.OK, {"y": np.array(0.0)})
    observed = {REFERENCE: Observation(Status.OK, right), "torch": seen}
    assert [one.symptom for one in compare(graph, PREDICT, observed, REFERENCE_BOUNDS)] == found


def test_squares_of_the_largest_numbers_are_infinite_and_raise_nothing() -> None:
    x = np.array([[1.7e308, -1.7e308, 1.0]])
    assert OPERATORS["var"].subtracts is not None
    assert OPERATORS["var"].subtracts([x], {}) == np.inf

"""Inconsistency guides: it is measured in units of jitter, and gains where a model has more than its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from frameworks_planted import REFERENCE_BOUNDS, InProcess, Planted, row_of
from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.feedback import INCONSISTENCY, OPERATORS_USED, RaisedInconsistency
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.case import Case
from jostle.frameworks.judging.inconsistency import Pairs, inconsistency
from jostle.frameworks.observations import REFERENCE
from jostle.records import NO_PARENT, Candidates, Lesson, Outcome, Trace
from making import batch_of


def off_by(factor: float) -> Planted:
    return Planted(wrong=(("exp", lambda call: f"torch.exp({call[0]}) * (1 + {factor})"),))


def measured(graph: Graph, *wrong: str, **backends: Planted) -> Pairs:
    runner = InProcess(backends)
    (observed,) = runner.run([graph], PREDICT)
    return inconsistency(Case(graph, PREDICT, observed, REFERENCE_BOUNDS), wrong)


def test_inconsistency_grows_with_the_difference_and_has_no_bound_in_reach() -> None:
    graph = row_of("exp")
    factors = (1e-6, 1e-4, 1e-2, 1.0, 1e3)
    sizes = [measured(graph, torch=Planted(), other=off_by(factor))["torch", "other"] for factor in factors]
    assert sizes == sorted(sizes) and sizes[-1] > 100 * sizes[-2] > 0
    assert sizes[0] < 1 < sizes[2]  # rounding explains the smallest


def test_a_result_that_is_finite_on_one_side_only_is_left_to_the_judge() -> None:
    infinite = Planted(wrong=(("exp", lambda call: f"torch.exp({call[0]}) / 0"),))
    assert measured(row_of("exp"), torch=Planted(), other=infinite)["torch", "other"] == 0


def test_equal_results_have_none() -> None:
    assert measured(row_of("exp"), torch=Planted(), other=Planted())["torch", "other"] == 0


def test_what_rounding_moves_more_is_less_inconsistent() -> None:
    """The same relative error, of a result that jitter hardly moves and of one that a cancellation magnifies."""
    plain = measured(row_of("exp"), torch=Planted(), other=off_by(1e-3))["torch", "other"]
    magnified = row_of("exp", "square", "square", "square", "square")
    assert 0 < measured(magnified, torch=Planted(), other=off_by(1e-3 / 16))["torch", "other"] < plain


def test_a_backend_that_is_wrong_is_left_out() -> None:
    pairs = measured(row_of("exp"), "other", torch=Planted(), other=off_by(1.0))
    assert list(pairs) == [(REFERENCE, "torch")]


def trace_of(values: Sequence[Sequence[float]], operators: Sequence[Sequence[bool]]) -> Trace:
    metadata = {
        INCONSISTENCY: torch.tensor(values, dtype=torch.float64),
        OPERATORS_USED: torch.tensor(operators, dtype=torch.bool),
    }
    return Trace(torch.full((len(values),), Outcome.OK), {}, metadata=metadata)


def children(*parents: int) -> Candidates:
    rows = batch_of(torch.zeros(len(parents), 1))
    return replace(rows, parents=torch.tensor(parents))


def planted(raised: RaisedInconsistency, *values: float) -> None:
    """Has models with the first operator in the corpus, with so much inconsistency."""
    rows, trace = (
        children(*[NO_PARENT] * len(values)),
        trace_of([[one] for one in values], [[True, False]] * len(values)),
    )
    gains = raised.assess(rows, trace)
    raised.learn(Lesson(rows, gains[:, None], trace, ()))


def gains_of(raised: RaisedInconsistency, parent: int, value: float, *operators: bool) -> float:
    return float(raised.assess(children(parent), trace_of([[value]], [operators])))


def test_a_model_gains_by_more_than_its_parent_and_than_others_with_its_operator() -> None:
    raised = RaisedInconsistency()
    planted(raised, 1.0, 100.0)
    assert gains_of(raised, 0, 10.0, True, False) == 0  # another model with that operator has more
    assert gains_of(raised, 1, 10.0, False, True) == 0  # its parent has more
    assert gains_of(raised, 0, 10.0, False, True) > 0  # so nothing is remembered of that one
    assert gains_of(raised, 0, 10.0, False, True) == 0
    assert gains_of(raised, 0, 1000.0, False, True) > 0
    assert gains_of(raised, 0, 1000.0, True, False) > 0


def test_inconsistency_gains_again_after_a_large_one() -> None:
    raised = RaisedInconsistency()
    planted(raised, 1.0)
    assert all(gains_of(raised, 0, 10.0**power, True, False) > 0 for power in range(1, 8))


def test_a_model_that_is_no_edit_of_another_is_compared_with_none() -> None:
    raised = RaisedInconsistency()
    planted(raised, 100.0)
    assert gains_of(raised, NO_PARENT, 10.0, False, True) > 0


@pytest.mark.parametrize("seed", range(5))
def test_models_that_run_again_together_gain_as_they_did_one_after_another(seed: int) -> None:
    """When a campaign goes on, a model and its parent stand in one batch, before anybody learnt of the parent."""
    rng = torch.Generator().manual_seed(seed)
    values = 10 ** (6 * torch.rand(12, 3, generator=rng))
    operators = torch.rand(12, 4, generator=rng) < 0.5
    parents = [int(torch.randint(2 + row, (1,), generator=rng)) for row in range(12)]
    one_by_one, together = RaisedInconsistency(), RaisedInconsistency()
    gains = []
    for raised in (one_by_one, together):
        rows, trace = children(NO_PARENT, NO_PARENT), trace_of([[1.0] * 3] * 2, [[True] * 4] * 2)
        raised.learn(Lesson(rows, raised.assess(rows, trace)[:, None], trace, ()))
    for row in range(12):
        kept, trace = children(parents[row]), trace_of(values[[row]].tolist(), operators[[row]].tolist())
        gains.append(one_by_one.assess(kept, trace))
        one_by_one.learn(Lesson(kept, gains[-1][:, None], trace, ()))
    assert (
        together.assess(children(*parents), trace_of(values.tolist(), operators.tolist())).tolist()
        == torch.cat(gains).tolist()
    )


@pytest.mark.parametrize("seed", range(5))
def test_what_gained_nothing_need_not_be_seen_again_to_go_on(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    lived, resumed = RaisedInconsistency(), RaisedInconsistency()
    planted(lived, 1.0)
    planted(resumed, 1.0)
    entries = 1
    for turn in range(60):
        parent = int(torch.randint(entries, (1,), generator=rng))
        value = float(10 ** (3 * torch.rand(1, generator=rng) + turn / 20))
        trace = trace_of([[value]], [(torch.rand(2, generator=rng) < 0.6).tolist()])
        gain = lived.assess(children(parent), trace)
        if gain.item() > 0:
            assert resumed.assess(children(parent), trace).tolist() == gain.tolist()
            for raised in (lived, resumed):
                raised.learn(Lesson(children(parent), gain[:, None], trace, ()))
            entries += 1
    assert entries > 5

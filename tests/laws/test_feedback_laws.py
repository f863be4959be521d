"""Did we see something new? What holds of every Feedback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.feedback.covariance import LayerCovariance
from jostle.feedback.criteria import ActiveNeurons, Boundaries, Ranked, Sections
from jostle.feedback.gap import NearerToDisagreement, to_another_label, to_another_top, to_other_numbers
from jostle.feedback.nearest import FarFromSeen
from jostle.feedback.neurons import NeuronCoverage
from jostle.feedback.sign_pairs import SignPairs
from jostle.feedback.surprise import Distance, Likelihood, SurpriseCoverage
from jostle.interfaces import Feedback
from jostle.known_traces import KnownTraces
from jostle.profile import Profile
from jostle.randomness import randomness
from jostle.records import MODEL, TWIN, Trace
from jostle.scale.step_parcels import only_roots
from making import assessed, batch_of, seeds_of, trace_of

LAYERS = ["early", "late"]
# Activations are whole numbers, so no distance is within rounding of these thresholds.
DISTANT: dict[str, Callable[[], Feedback]] = {
    "nearest": lambda: FarFromSeen(LAYERS, 2.3),
    "nearest, cosine": lambda: FarFromSeen(LAYERS, 0.1037, cosine=True),
    "magnitude": lambda: FarFromSeen(LAYERS, 2.3, criterion="magnitude"),
    "magnitude, cosine": lambda: FarFromSeen(LAYERS, 0.1037, cosine=True, criterion="magnitude"),
    "nearest of the outputs": lambda: FarFromSeen([], 2.3),
}
# Of the whole numbers from -6 to 6, some lie in the range of their neuron and some beyond; the last neuron is constant.
RANGES = Profile((("early", 3), ("late", 2)), torch.tensor([-3.0, -6, 0, -4, 1]), torch.tensor([3.0, 6, 5, 2, 1]), 9)
COUNTING: dict[str, Callable[[], Feedback]] = {
    "nc": lambda: NeuronCoverage("nc", lambda layers: ActiveNeurons(layers, 0.5)),
    "kmnc": lambda: NeuronCoverage("kmnc", lambda layers: Sections(RANGES, 7)),
    "nbc": lambda: NeuronCoverage("nbc", lambda layers: Boundaries(RANGES, True, 3, 7)),
    "snac": lambda: NeuronCoverage("snac", lambda layers: Boundaries(RANGES, False, 3, 7)),
    "tknc": lambda: NeuronCoverage("tknc", lambda layers: Ranked(layers, 2)),
    "bknc": lambda: NeuronCoverage("bknc", lambda layers: Ranked(layers, 2, least=True)),
}
# The twin's outputs are those of the model the other way round.
APART: dict[str, Callable[[], Feedback]] = {
    "gap of the best class": lambda: NearerToDisagreement({TWIN: to_another_top()}),
    "gap of the three best": lambda: NearerToDisagreement({TWIN: to_another_top(3)}),
    "gap with a margin": lambda: NearerToDisagreement({TWIN: to_another_top(margin=4.0)}),
    "gap of labels": lambda: NearerToDisagreement({TWIN: to_another_label(0.5)}),
    "gap of numbers": lambda: NearerToDisagreement({TWIN: to_other_numbers}),
    "gap to two twins": lambda: NearerToDisagreement({TWIN: to_other_numbers, MODEL: to_another_top()}),
}
KNOWN = KnownTraces(
    tuple(LAYERS),
    torch.randint(-6, 7, (80, 5), generator=randomness(3, 0)).float(),
    torch.randint(0, 5, (80,), generator=randomness(4, 0)),
)
SINCE: dict[str, Callable[[], Feedback]] = {
    "lsa": lambda: SurpriseCoverage("lsa", LAYERS, Likelihood(KNOWN), 40),
    "dsa": lambda: SurpriseCoverage("dsa", LAYERS, Distance(KNOWN), 40),
    "nlc": LayerCovariance,
    "sscov": SignPairs,
    "sscov of all data": lambda: SignPairs(every_row=True),
}
WITH_LEVELS = ("nc", "nbc", "snac")
FEEDBACKS = {**DISTANT, **COUNTING, **APART, **SINCE}
every_feedback = pytest.mark.parametrize("name", FEEDBACKS)
every_distant = pytest.mark.parametrize("name", DISTANT)
every_counting = pytest.mark.parametrize("name", COUNTING)

LARGE = torch.tensor([1e3, 1e5, -1e5, 3e7, 1e20, 3e38])
BROKEN = torch.tensor([torch.nan, torch.inf, -torch.inf])


def rows_from(seed: int, count: int, odd: float) -> Tensor:
    """Rows [count, 5] of small whole numbers, a share of them odd: huge, NaN or infinite."""
    rng = randomness(seed, count)
    rows = torch.randint(-6, 7, (count, 5), generator=rng).float()
    strange = torch.cat([LARGE, BROKEN])[torch.randint(9, (count, 5), generator=rng)]
    return torch.where(torch.rand(count, 5, generator=rng) < odd, strange, rows)


finite_rows = st.builds(rows_from, st.integers(0, 10**6), st.integers(1, 14), st.just(0.0))
any_rows = st.builds(rows_from, st.integers(0, 10**6), st.integers(1, 14), st.sampled_from([0.0, 0.02, 0.1]))


def seen_in(rows: Tensor) -> Trace:
    """A trace whose two layers, and whose output, show these rows [batch, 5]."""
    layers = {"early": rows[:, :3], "late": rows[:, 3:]}
    extremes = {name: torch.stack(value.aminmax(dim=1), 1) for name, value in layers.items()}
    return trace_of(rows, rows.flip(1), activations=layers, extremes=extremes)


def one_by_one(feedback: Feedback, trace: Trace) -> Tensor:
    return torch.cat([assessed(feedback, trace.select(torch.tensor([row]))) for row in range(len(trace.outcome))])


@every_feedback
@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=any_rows, before=finite_rows)
def test_a_batch_is_worth_its_rows_one_after_another(name: str, rows: Tensor, before: Tensor) -> None:
    at_once, in_turn = FEEDBACKS[name](), FEEDBACKS[name]()
    for feedback in (at_once, in_turn):
        assessed(feedback, seen_in(before))
    expected = one_by_one(in_turn, seen_in(rows))
    gain = assessed(at_once, seen_in(rows))
    assert torch.equal(gain > 0, expected > 0)
    torch.testing.assert_close(gain, expected, rtol=1e-4, atol=1e-4)
    assert at_once.coverage() == in_turn.coverage()


@every_feedback
def test_gains_follow_from_the_trace_and_the_roots(name: str) -> None:
    """So that workers who are told what others kept need not be told the inputs."""
    rows, seeds, roots = rows_from(7, 12, 0.1), seeds_of(torch.zeros(3, 5)), torch.arange(12) % 3
    here, elsewhere = FEEDBACKS[name](), FEEDBACKS[name]()
    whole = replace(batch_of(rows), seeds=seeds, roots=roots)
    assert torch.equal(here.assess(whole, seen_in(rows)), elsewhere.assess(only_roots(seeds, roots), seen_in(rows)))
    assert here.looks_at_inputs is elsewhere.looks_at_inputs is False  # type: ignore[attr-defined]


# What a row adds to a covariance depends on all others: one that added nothing may add something later.
@pytest.mark.parametrize("name", [name for name in FEEDBACKS if name != "nlc"])
@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=any_rows)
def test_nothing_is_new_twice(name: str, rows: Tensor) -> None:
    feedback = FEEDBACKS[name]()
    assessed(feedback, seen_in(rows))
    assert not assessed(feedback, seen_in(rows)).any()
    assert not assessed(feedback, seen_in(rows.flip(0))).any()


@every_feedback
@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=any_rows)
def test_what_was_new_is_never_new_again(name: str, rows: Tensor) -> None:
    feedback = FEEDBACKS[name]()
    new = assessed(feedback, seen_in(rows)) > 0
    assert not assessed(feedback, seen_in(rows))[new].any()


@every_feedback
@settings(deadline=None, derandomize=True, max_examples=40)
@given(seeds=finite_rows, rows=any_rows)
def test_what_gained_nothing_need_not_be_seen_again_to_go_on(name: str, seeds: Tensor, rows: Tensor) -> None:
    """A campaign that goes on runs its seeds and what it kept, and must know then what it knew."""
    if name == "sscov of all data":
        return  # which is of measuring alone
    whole, again = FEEDBACKS[name](), FEEDBACKS[name]()
    assessed(whole, seen_in(seeds))
    kept = rows[assessed(whole, seen_in(rows)) > 0]
    assessed(again, seen_in(seeds))
    assessed(again, seen_in(kept))
    assert again.coverage() == whole.coverage()
    assert torch.equal(assessed(again, seen_in(rows.flip(0))), assessed(whole, seen_in(rows.flip(0))))


@every_feedback
@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=any_rows)
def test_rows_that_are_not_finite_are_never_new(name: str, rows: Tensor) -> None:
    gain = assessed(FEEDBACKS[name](), seen_in(rows))
    assert not gain.isnan().any() and not (gain < 0).any()
    assert not gain[~rows.isfinite().all(1)].any()


@every_feedback
def test_a_batch_of_nothing_but_nan_is_worth_nothing_and_spoils_nothing(name: str) -> None:
    feedback, fresh = FEEDBACKS[name](), FEEDBACKS[name]()
    assert not assessed(feedback, seen_in(torch.full((3, 5), torch.nan))).any()
    rows = torch.tensor([[1.0, 2, 3, 4, 5], [-5.0, 9, 0, 2, 1]])
    assert torch.equal(assessed(feedback, seen_in(rows)), assessed(fresh, seen_in(rows)))


@every_distant
def test_the_first_row_is_new_and_so_is_one_far_from_it(name: str) -> None:
    feedback = DISTANT[name]()
    near_and_far = torch.tensor([[1.0, 2, 3, 0, 0], [1.0, 2, 3, 0, 0.1], [0, 0, 0.0, 90, 9]])
    assert (assessed(feedback, seen_in(near_and_far)) > 0).tolist() == [True, False, True]


@every_distant
def test_coverage_counts_what_was_new(name: str) -> None:
    feedback = DISTANT[name]()
    new = assessed(feedback, seen_in(torch.tensor([[1.0, 2, 3, 0, 0], [1.0, 2, 3, 0, 0], [0, 0, 0.0, 90, 9]]))) > 0
    (figures,) = feedback.coverage().values()
    assert figures["points"] == int(new.sum())


@every_counting
@settings(deadline=None, derandomize=True, max_examples=30)
@given(rows=finite_rows)
def test_what_is_covered_never_shrinks_and_grows_only_where_something_is_new(name: str, rows: Tensor) -> None:
    feedback = COUNTING[name]()
    before = 0.0
    for row in rows.split(1):
        new = bool(assessed(feedback, seen_in(row)) > 0)
        ((_, figures),) = feedback.coverage().items()
        now = figures.get("buckets", figures.get("ranks", figures["covered"]))
        assert 0 <= figures["covered"] <= 1
        # Levels on the way to a unit are new too, and cover nothing.
        assert now == before or (now > before and new)
        assert name in WITH_LEVELS or (now > before) == new
        before = now


def in_other_order(trace: Trace, order: dict[str, Tensor]) -> Trace:
    """The same with the neurons of each layer in another order."""
    layers = {name: values[:, order[name]] for name, values in trace.activations.items()}
    return trace_of(trace.outputs[MODEL], activations=layers, extremes=trace.extremes)


@pytest.mark.parametrize("name", ["nc", "tknc", "bknc"])
@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=finite_rows, seed=st.integers(0, 10**6))
def test_the_order_of_neurons_decides_nothing(name: str, rows: Tensor, seed: int) -> None:
    rng = randomness(seed, 0)
    order = {"early": torch.randperm(3, generator=rng), "late": torch.randperm(2, generator=rng)}
    ties = rows.clamp(0, 2)  # as after a ReLU
    one, other = COUNTING[name](), COUNTING[name]()
    gains = assessed(one, seen_in(ties)), assessed(other, in_other_order(seen_in(ties), order))
    assert torch.equal(*gains) and one.coverage() == other.coverage()

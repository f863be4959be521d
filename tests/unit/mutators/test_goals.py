"""What gradient ascent tries to make the model do."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.errors import UsageError
from jostle.mutators.goals import OTHERS, AnotherClass, Goal, OneDeviates, TwinsDisagree, margin
from jostle.oracles.unanimity import Unanimous
from jostle.randomness import randomness
from jostle.records import MODEL, NO_BUG
from jostle.targets.panel import variant
from making import batch_of, trace_of

NO_LUCK = torch.zeros(1)


def scores_of(seed: int, models: int, rows: int = 6, classes: int = 5) -> dict[str, Tensor]:
    rng = randomness(seed, 0)
    return {variant(number): torch.randn(rows, classes, generator=rng) for number in range(models)}


def test_the_likeliest_others_rise_and_the_label_falls() -> None:
    scores = {MODEL: torch.tensor([[5.0, 1.0, 4.0, 2.0, 3.0]])}
    weights = AnotherClass(5, 2).weights(scores, torch.tensor([0]), NO_LUCK)
    assert weights.keys() == {MODEL}
    assert weights[MODEL].tolist() == [[-1.0, 0.0, OTHERS, 0.0, OTHERS]]


def test_the_label_is_never_among_the_others_even_where_it_is_not_the_likeliest() -> None:
    scores = {MODEL: torch.tensor([[1.0, 5.0, 4.0]])}
    assert AnotherClass(3, 2).weights(scores, torch.tensor([2]), NO_LUCK)[MODEL].tolist() == [[OTHERS, OTHERS, -1.0]]


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_the_goal_of_another_class_is_reached_exactly_where_another_is_likeliest(seed: int, k: int) -> None:
    scores, labels = scores_of(seed, 1), torch.arange(6) % 5
    reached = AnotherClass(5, k).margins(scores, labels, torch.zeros(6)) < 0
    assert torch.equal(reached, scores[MODEL].argmax(1) != labels)


def test_a_margin_is_the_distance_to_the_best_other() -> None:
    margins = margin(torch.tensor([[3.0, 1.0, 2.5], [0.0, 4.0, 1.0]]), torch.tensor([0, 2]))
    assert margins.tolist() == [0.5, -3.0]


@pytest.mark.parametrize(("classes", "k"), [(10, 10), (10, 11), (2, 2), (10, 0), (10, -1)])
def test_as_many_others_as_classes_are_refused(classes: int, k: int) -> None:
    with pytest.raises(UsageError, match=f"--others {k}: the model tells {classes} classes apart: give 1 to"):
        AnotherClass(classes, k)
    AnotherClass(classes, classes - 1)


@pytest.mark.parametrize(("luck", "deviant"), [(0.0, 0), (0.3, 0), (0.4, 1), (0.6, 1), (0.7, 2), (0.999999, 2)])
def test_luck_draws_the_one_that_shall_deviate_while_the_others_keep_their_class(luck: float, deviant: int) -> None:
    scores = scores_of(0, 3, rows=1)
    scores[MODEL][0, 4] = 9.0
    weights = OneDeviates(2.0).weights(scores, torch.tensor([0]), torch.tensor([luck]))
    for number, some in enumerate(weights.values()):
        assert some.tolist() == [[0.0, 0.0, 0.0, 0.0, -2.0 if number == deviant else 1.0]]


def test_the_goal_of_deviating_is_reached_as_soon_as_any_model_does() -> None:
    agreeing, other = torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 1.5]])
    label = torch.tensor([0])
    for luck in (0.0, 0.9):
        drawn = torch.tensor([luck])
        assert OneDeviates().margins({MODEL: agreeing, "model 2": other}, label, drawn).tolist() == [-0.5]
        assert OneDeviates().margins({MODEL: agreeing, "model 2": agreeing * 2}, label, drawn) > 0
    assert OneDeviates().margins({MODEL: agreeing, "model 2": agreeing * 2}, label, torch.tensor([0.9])).tolist() == [
        4.0
    ]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(seed=st.integers(0, 10**6), models=st.integers(2, 3))
def test_the_goal_of_deviating_is_reached_exactly_where_the_oracle_says_that_models_differ(
    seed: int, models: int
) -> None:
    """Also where all of them agree on another class than the label: a digit that all misread is a seed too."""
    scores = scores_of(seed, models, rows=40, classes=2)
    labels = torch.arange(40) % 2
    trace = trace_of(scores[MODEL])
    trace = type(trace)(trace.outcome, scores)
    differ = Unanimous().judge(batch_of(torch.zeros(40, 1), labels), trace).bugs != NO_BUG
    reached = OneDeviates().margins(scores, labels, torch.rand(40, generator=randomness(seed, 1))) < 0
    assert torch.equal(reached, differ)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6), twins=st.integers(1, 3))
def test_the_goal_of_disagreement_is_reached_exactly_where_the_twin_that_was_drawn_disagrees(
    seed: int, twins: int
) -> None:
    scores, luck = scores_of(seed, 1 + twins, rows=40, classes=3), torch.rand(40, generator=randomness(seed, 1))
    drawn = torch.stack(list(scores.values())[1:])[(luck * twins).long(), torch.arange(40)]
    reached = TwinsDisagree().margins(scores, torch.zeros(40).long(), luck) < 0
    assert torch.equal(reached, scores[MODEL].argmax(1) != drawn.argmax(1))


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_a_step_along_the_weights_brings_twins_to_disagree(seed: int) -> None:
    """Of scores that can be changed one by one, and by which slopes are exact."""
    scores, luck = scores_of(seed, 2), torch.rand(6, generator=randomness(seed, 1))
    goal, labels = TwinsDisagree(), torch.zeros(6).long()
    for _ in range(9):
        weights, margins = goal.weights(scores, labels, luck), goal.margins(scores, labels, luck)
        slopes = sum((some**2).sum(1) for some in weights.values())
        assert (slopes > 0).all()
        share = (1.1 * margins.clamp(min=0) / slopes)[:, None]
        scores = {name: some + share * weights[name] for name, some in scores.items()}
    assert (goal.margins(scores, labels, luck) < 0).all()


def test_twins_that_no_line_is_of_weigh_nothing() -> None:
    weights = TwinsDisagree().weights(scores_of(1, 3), torch.zeros(6).long(), torch.full((6,), 0.7))
    assert weights.keys() == {MODEL, "model 2", "model 3"}
    assert not weights["model 2"].any() and (weights[MODEL].any(1) | weights["model 3"].any(1)).all()


def test_luck_favours_rivals_so_that_lines_from_one_input_differ() -> None:
    scores = {MODEL: torch.tensor([[5.0, 3.0, 2.9, 2.8, 2.7]]), "twin": torch.tensor([[5.0, 3.0, 2.9, 2.8, 2.7]])}
    rivals = {
        int(TwinsDisagree().weights(scores, torch.zeros(1).long(), torch.tensor([luck]))[MODEL].argmax())
        for luck in torch.linspace(0, 0.99, 100).tolist()
    }
    assert len(rivals) >= 3 and 0 not in rivals


@pytest.mark.parametrize(
    "goal",
    [AnotherClass(5, 2), OneDeviates(), TwinsDisagree()],
    ids=["another class", "one deviates", "twins disagree"],
)
def test_a_row_is_weighed_as_if_alone(goal: Goal) -> None:
    scores, labels = scores_of(3, 1 if isinstance(goal, AnotherClass) else 3), torch.arange(6) % 5
    luck = torch.rand(6, generator=randomness(3, 1))
    margins, weights = goal.margins(scores, labels, luck), goal.weights(scores, labels, luck)
    for row in torch.arange(6).split(1):
        alone = {name: some[row] for name, some in scores.items()}
        assert torch.equal(goal.margins(alone, labels[row], luck[row]), margins[row])
        for name, some in goal.weights(alone, labels[row], luck[row]).items():
            assert torch.equal(some, weights[name][row])

"""Which neurons gradient ascent tries to activate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.errors import UsageError
from jostle.mutators.neuron_choice import STRATEGIES, Known, NeuronChoice, Strategy, frequent, heavy, near, rare
from jostle.mutators.neuron_choice import uncovered as never_active
from jostle.randomness import randomness
from jostle.records import Lesson, Linearised
from making import batch_of, lesson, trace_of

LAYERS = (("conv", 4), ("fc", 6))
ROWS = 400


def split(neurons: Tensor) -> dict[str, Tensor]:
    """Ten neurons [rows, 10] as the two layers have them."""
    return {"conv": neurons[:, :4].float(), "fc": neurons[:, 4:].float()}


def unit_extremes(rows: int) -> dict[str, Tensor]:
    return {name: torch.tensor([[0.0, 1.0]]).expand(rows, 2) for name, _ in LAYERS}


def passed(neurons: Tensor) -> Linearised:
    """A pass in which the neurons did this [rows, 10], every layer ranging from 0 to 1."""
    rows = len(neurons)
    return Linearised({"model": torch.zeros(rows, 2)}, split(neurons), unit_extremes(rows), pull=lambda *_: neurons)


def taught(active: Sequence[Sequence[int]]) -> Lesson:
    """A step that kept inputs in which these neurons were active."""
    neurons = torch.zeros(len(active), 10)
    for row, some in enumerate(active):
        neurons[row, list(some)] = 0.9
    kept = batch_of(torch.zeros(len(active), 1))
    trace = trace_of(torch.zeros(len(active), 2), activations=split(neurons), extremes=unit_extremes(len(active)))
    return replace(lesson(kept, torch.ones(len(active), 1)), trace=trace)


def shares(chosen: Tensor) -> list[float]:
    """How often each of the ten neurons was the one chosen."""
    return (torch.bincount(chosen[:, 0], minlength=10) / len(chosen)).tolist()


def one_of(strategy: Strategy, neurons: Tensor | None = None, weights: Tensor | None = None) -> list[float]:
    """How often a strategy chose each neuron, once three inputs were kept with 0 always active, 1 twice, 2 once."""
    choice = NeuronChoice(LAYERS, 1, (strategy,), weights=weights)
    choice.learn(taught([[0, 1, 2], [0, 1], [0]]))
    at_rest = torch.zeros(ROWS * 10, 10) if neurons is None else neurons.expand(ROWS * 10, 10)
    return shares(choice.chosen(passed(at_rest), randomness(0, 1)))


def test_frequent_chooses_a_neuron_as_often_as_it_was_active() -> None:
    assert one_of(frequent) == pytest.approx([3 / 6, 2 / 6, 1 / 6] + [0] * 7, abs=0.03)


def test_rare_chooses_those_that_were_active_seldom() -> None:
    assert one_of(rare) == pytest.approx([0, 1 / 24, 2 / 24] + [3 / 24] * 7, abs=0.02)


def test_uncovered_chooses_those_that_were_never_active_and_any_once_all_were() -> None:
    assert one_of(never_active) == pytest.approx([0, 0, 0] + [1 / 7] * 7, abs=0.03)
    choice = NeuronChoice(LAYERS, 1, (never_active,))
    choice.learn(taught([range(10)]))
    assert shares(choice.chosen(passed(torch.zeros(4000, 10)), randomness(0, 1))) == pytest.approx([0.1] * 10, abs=0.03)


def test_heavy_chooses_the_tenth_with_the_strongest_weights() -> None:
    weights = torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 3])
    assert one_of(heavy, weights=weights) == [0] * 8 + [1, 0]
    many = torch.arange(1, 101.0)
    likely = heavy(Known(torch.zeros(100), 0, many, torch.zeros(0, 100), 0.25))
    assert likely.nonzero().flatten().tolist() == list(range(90, 100)) and likely.unique().tolist() == [0, 1]


def test_heavy_leaves_out_neurons_without_weights() -> None:
    weights = torch.tensor([0.0] * 9 + [0.1])
    assert one_of(heavy, weights=weights) == [0] * 9 + [1]


def test_near_chooses_those_just_below_the_threshold_of_each_input() -> None:
    choice = NeuronChoice(LAYERS, 1, (near,), threshold=0.5)
    neurons = torch.zeros(ROWS, 10)
    closest = torch.arange(ROWS) % 10
    neurons[torch.arange(ROWS), closest] = 0.49
    neurons[torch.arange(ROWS), (closest + 1) % 10] = 0.51  # over it already
    chosen = choice.chosen(passed(neurons), randomness(0, 1))[:, 0]
    assert (chosen == closest).float().mean() > 0.9
    assert (chosen != (closest + 1) % 10).all()
    assert choice.looks_closely and not NeuronChoice(LAYERS, 2, (rare, heavy)).looks_closely


@pytest.mark.parametrize("name", STRATEGIES)
@settings(deadline=None, derandomize=True, max_examples=30)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 10))
def test_no_neuron_is_chosen_twice_and_where_there_are_too_few_none_is(name: str, seed: int, count: int) -> None:
    rng = randomness(seed, 0)
    strategy, neurons = STRATEGIES[name], torch.rand(6, 10, generator=rng)
    weights = torch.rand(10, generator=rng).round()
    choice = NeuronChoice(LAYERS, count, (strategy,), weights=weights)
    choice.learn(taught([torch.randperm(10, generator=rng)[:3].tolist() for _ in range(2)]))
    chosen = choice.chosen(passed(neurons), rng)
    assert (chosen.shape, chosen.dtype) == ((6, count), torch.int64)
    for row in chosen.tolist():
        some = [neuron for neuron in row if neuron != -1]
        assert len(set(some)) == len(some) and all(0 <= neuron < 10 for neuron in some)


def test_where_too_few_can_be_chosen_the_rest_is_none() -> None:
    choice = NeuronChoice(LAYERS, 5, (frequent,))
    assert (choice.chosen(passed(torch.zeros(3, 10)), randomness(0, 1)) == -1).all()  # none was active yet
    choice.learn(taught([[7, 2]]))
    for row in choice.chosen(passed(torch.zeros(3, 10)), randomness(0, 1)).tolist():
        assert sorted(row) == [-1, -1, -1, 2, 7]


def test_several_strategies_share_the_number_wanted() -> None:
    choice = NeuronChoice(LAYERS, 5, (frequent, heavy), weights=torch.tensor([0.0] * 5 + [1.0] * 5))
    choice.learn(taught([[0, 1, 2, 3]]))
    for row in choice.chosen(passed(torch.zeros(50, 10)), randomness(0, 1)).tolist():
        assert sum(neuron < 4 for neuron in row) == 3 and sum(neuron > 4 for neuron in row) == 2


def test_two_strategies_do_not_choose_the_same_neuron() -> None:
    choice = NeuronChoice(LAYERS, 10, (frequent, rare))
    choice.learn(taught([range(10), [0, 1, 2, 3, 4]]))
    for row in choice.chosen(passed(torch.zeros(20, 10)), randomness(0, 1)).tolist():
        some = [neuron for neuron in row if neuron != -1]
        assert len(set(some)) == len(some)


def test_chosen_neurons_weigh_and_no_others_do() -> None:
    choice = NeuronChoice(LAYERS, 3)
    weights = choice.weights(torch.tensor([[0, 5, 9], [3, -1, -1], [-1, -1, -1]]), 0.25)
    assert {name: value.tolist() for name, value in weights.items()} == {
        "conv": [[0.25, 0, 0, 0], [0, 0, 0, 0.25], [0, 0, 0, 0]],
        "fc": [[0, 0.25, 0, 0, 0, 0.25], [0] * 6, [0] * 6],
    }


def test_a_neuron_is_active_above_the_threshold_of_its_layers_span() -> None:
    choice = NeuronChoice(LAYERS, 1, (frequent,), threshold=0.5)
    kept = batch_of(torch.zeros(1, 1))
    trace = trace_of(
        torch.zeros(1, 2),
        activations={"conv": torch.tensor([[-3.0, -2, -1, 0]]), "fc": torch.tensor([[10.0, 0, 5, 6, 4, 0]])},
        extremes={"conv": torch.tensor([[-4.0, 0.0]]), "fc": torch.tensor([[0.0, 10.0]])},
    )
    choice.learn(replace(lesson(kept, torch.ones(1, 1)), trace=trace))
    found = choice.chosen(passed(torch.zeros(ROWS, 10)), randomness(0, 1)).unique().tolist()
    assert found == [2, 3, 4, 7]  # shares 3/4 and 1 of the one, 1 and 0.6 of the other; half is not above


@pytest.mark.parametrize(
    ("count", "strategies", "said"),
    [
        (11, (frequent,), "--neurons 11: the layers chosen have 10 neurons: give fewer, or more with --layers"),
        (1, (frequent, rare), "--neurons 1 for 2 strategies: give at least one for each"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(count: int, strategies: tuple[Strategy, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        NeuronChoice(LAYERS, count, strategies)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_hundred_thousand_neurons_take_under_a_second_of_the_processor(name: str) -> None:
    neurons, rows = 100_000, 8
    choice = NeuronChoice((("wide", neurons),), 10, (STRATEGIES[name],), weights=torch.rand(neurons))
    values = torch.rand(rows, neurons)
    extremes = {"wide": torch.tensor([[0.0, 1.0]]).expand(rows, 2)}
    trace = trace_of(torch.zeros(rows, 2), activations={"wide": values}, extremes=extremes)
    started = time.process_time()  # of the processor, whatever else the machine does
    choice.learn(replace(lesson(batch_of(torch.zeros(rows, 1)), torch.ones(rows, 1)), trace=trace))
    wide = Linearised({"model": torch.zeros(rows, 2)}, {"wide": values}, extremes, pull=lambda *_: values)
    chosen = choice.chosen(wide, randomness(0, 1))
    choice.weights(chosen, 1.0)
    assert time.process_time() - started < 1
    assert chosen.shape == (rows, 10)

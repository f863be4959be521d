"""Joint gradient ascent: towards another answer of the model and towards active neurons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import UsageError
from jostle.inputs.distances import as_image_file, reference_lengths, relative_distances
from jostle.lineage import NO_GRADIENT, UNCHANGED
from jostle.mutators.ascent import Ascent, Reach
from jostle.mutators.goals import AnotherClass, TwinsDisagree
from jostle.mutators.neuron_choice import NeuronChoice, uncovered
from jostle.mutators.perturbations import sign
from jostle.randomness import randomness
from jostle.records import MODEL, NO_PARENT, TWIN, Candidates, Linearised
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.torch_twins import TWINS
from jostle.targets.twins import Twins
from jostle.zoo import lenet1, lenet5, mnist_sample
from making import batch_of, lesson, seeds_of, texts_of, trace_of

DIGITS = 20


def digits(low: float = 0.0, high: float = 1.0) -> Candidates:
    """Digits that LeNet-1 reads rightly, each its own parent."""
    images, labels = mnist_sample()
    right = (lenet1()(images).argmax(1) == labels).nonzero().flatten()[:DIGITS]
    return batch_of(images[right] * (high - low) + low, labels[right])


def times(parents: Candidates, count: int) -> Candidates:
    """Every parent so many times in a row."""
    return parents.select(torch.arange(len(parents)).repeat_interleave(count))


def lenet_ascent(iterations: int = 3, **choices: Any) -> Ascent:
    return Ascent(TorchTarget(lenet1()), AnotherClass(10), 0, 1, iterations=iterations, **choices)


def lines_of(children: Candidates) -> dict[int, Candidates]:
    """The children of each parent, in order."""
    return {
        parent: children.select((children.parents == parent).nonzero().flatten())
        for parent in children.parents.unique().tolist()
    }


def says(inputs: Tensor) -> Tensor:
    return TorchTarget(lenet1()).predict(inputs).argmax(1)


class Slope(nn.Module):
    """Two classes of vectors: the second rises with every value, and the first falls."""

    def __init__(self, values: int = 4, steepness: float = 1.0) -> None:
        super().__init__()
        self.fc = nn.Linear(values, 2, bias=False)
        self.fc.weight.data = torch.tensor([[-1.0], [1.0]]).expand(2, values) * steepness


class Sloping(Slope):
    def forward(self, inputs: Tensor) -> Tensor:
        return self.fc(inputs.flatten(1)) + torch.tensor([10.0, 0.0])


def sloping(values: int = 4, low: float = 0, high: float = 1, **choices: Any) -> Ascent:
    return Ascent(TorchTarget(Sloping(values), ["fc"]), AnotherClass(2, 1), low, high, **choices)


def vectors(values: float = 0.5, count: int = 3) -> Candidates:
    return batch_of(torch.full((count, 4), values), torch.zeros(count).long())


# Lines


def test_a_line_ends_with_the_point_whose_label_changed() -> None:
    parents = digits()
    children = lenet_ascent(6).mutate(times(parents, 6), randomness(0, 1))
    ended_early = 0
    for parent, line in lines_of(children).items():
        label = parents.labels[parent - 100]
        kept = says(line.inputs) == label
        assert kept[:-1].all()  # whatever was gone on from still had its label
        assert len(line) == 6 or not kept[-1]
        ended_early += len(line) < 6
    assert ended_early > DIGITS / 2


def test_within_three_steps_most_digits_are_taken_for_another() -> None:
    parents = digits()
    children = lenet_ascent(3).mutate(times(parents, 3), randomness(0, 1))
    flipped = {int(child) for child in children.parents[says(children.inputs) != children.labels]}
    assert len(flipped) >= 0.8 * DIGITS


def test_rows_of_the_same_parent_form_a_line_wherever_they_stand() -> None:
    parents = digits().select(torch.tensor([0, 1, 2]))
    together = lenet_ascent().mutate(times(parents, 3), randomness(0, 1))
    apart = lenet_ascent().mutate(parents.select(torch.tensor([0, 1, 2] * 3)), randomness(0, 1))
    for one, other in zip(lines_of(together).values(), lines_of(apart).values(), strict=True):
        assert texts_of(one) == texts_of(other) == tuple(f"ascent, step {i + 1}" for i in range(len(one)))
        torch.testing.assert_close(one.inputs, other.inputs)


def test_each_point_of_a_line_is_a_step_on_from_the_one_before() -> None:
    children = sloping(reach=Reach(0.02, 5.0)).mutate(times(vectors(), 3), randomness(0, 1))
    for line in lines_of(children).values():
        assert texts_of(line) == ("ascent, step 1", "ascent, step 2", "ascent, step 3")
        changes = line.inputs.diff(dim=0, prepend=line.references[:1])
        assert (changes > 0).all()


def test_rows_beyond_the_iterations_begin_another_line() -> None:
    children = sloping(iterations=2).mutate(vectors(count=1).select(torch.zeros(4).long()), randomness(0, 1))
    assert [step[-1] for step in texts_of(children)] == ["1", "2", "1", "2"]
    assert torch.equal(children.inputs[:2], children.inputs[2:])


@pytest.mark.parametrize("rows", [1, 2])
def test_of_a_line_with_too_few_rows_the_last_shows_where_it_ends(rows: int) -> None:
    far = Reach(0.02, 5.0)
    whole = sloping(reach=far).mutate(times(vectors(count=1), 3), randomness(0, 1))
    cut = sloping(reach=far).mutate(times(vectors(count=1), rows), randomness(0, 1))
    assert cut.mutations == (*whole.mutations[: rows - 1], whole.mutations[-1])
    assert torch.equal(cut.inputs, torch.cat([whole.inputs[: rows - 1], whole.inputs[-1:]]))


def test_seeds_have_no_parent_in_common() -> None:
    seeds = seeds_of(torch.full((4, 4), 0.5), torch.zeros(4).long()).as_candidates()
    assert (seeds.parents == NO_PARENT).all()
    children = sloping(iterations=1).mutate(seeds, randomness(0, 1))
    assert texts_of(children) == ("ascent, step 1",) * 4


# How far


@pytest.mark.parametrize("as_images", [False, True])
@pytest.mark.parametrize("limit", [0.01, 0.02, 0.1])
def test_the_first_step_stays_within_the_limit_so_that_it_may_be_a_seed(limit: float, as_images: bool) -> None:
    mutator = lenet_ascent(reach=Reach(limit, 0.3), as_images=as_images)
    children = mutator.mutate(times(digits(), 3), randomness(0, 1))
    first = children.select(torch.tensor([step.endswith("1") for step in texts_of(children)]).nonzero().flatten())
    distances = relative_distances(first.inputs, first.references)
    assert len(first) == DIGITS and (distances > 0).all()
    assert (distances < limit).all()


def test_the_first_step_from_a_mutant_stays_within_the_limit_of_its_root() -> None:
    parents = digits()
    away = torch.randn(parents.inputs.shape, generator=randomness(1, 0)) * 0.006
    mutants = replace(parents, inputs=(parents.inputs + away).clamp(0, 1))
    assert (relative_distances(mutants.inputs, mutants.references) > 0.005).all()
    children = lenet_ascent(1).mutate(mutants, randomness(0, 1))
    assert (relative_distances(children.inputs, children.references) < 0.02).all()


@pytest.mark.parametrize("most", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("perturbation", ["gradient", "sign"])
def test_mutants_stay_within_reach_of_their_root_and_in_range(most: float, perturbation: str) -> None:
    how = {"perturbation": sign} if perturbation == "sign" else {}
    children = lenet_ascent(6, reach=Reach(0.02, most), **how).mutate(times(digits(), 6), randomness(0, 1))
    distances = relative_distances(children.inputs, children.references)
    assert float(distances.max()) <= most * (1 + 1e-5)
    assert float(children.inputs.min()) >= 0 and float(children.inputs.max()) <= 1
    if most == 0.03:
        assert float(distances.max()) > 0.9 * most  # so that the reach is what held them


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)])
def test_as_images_every_mutant_is_what_a_file_of_eight_bits_gives_back(low: float, high: float) -> None:
    span = high - low
    target = TorchTarget(lenet1(), mean=[low], std=[span])
    mutator = Ascent(target, AnotherClass(10), low, high, as_images=True)
    children = mutator.mutate(times(digits(low, high), 3), randomness(0, 1))
    assert torch.equal(as_image_file(children.inputs, low, high), children.inputs)
    assert (relative_distances(children.inputs, children.references) > 0).all()
    plain = Ascent(target, AnotherClass(10), low, high).mutate(times(digits(low, high), 3), randomness(0, 1))
    assert not torch.equal(as_image_file(plain.inputs, low, high), plain.inputs)


def test_as_images_mutants_stay_within_reach_too_but_for_rounding() -> None:
    children = lenet_ascent(6, reach=Reach(0.02, 0.05), as_images=True).mutate(times(digits(), 6), randomness(0, 1))
    rounding = 0.5 / 255 * 28 / reference_lengths(children.references)  # half a level in every value
    assert (relative_distances(children.inputs, children.references) <= 0.05 + rounding).all()


@pytest.mark.parametrize(("limit", "most"), [(0.4, 0.3), (-0.1, 0.3), (0.0, 0.0), (0.1, -1.0), (float("nan"), 0.3)])
def test_a_limit_beyond_the_reach_is_refused(limit: float, most: float) -> None:
    with pytest.raises(UsageError, match=r"--limit .* and --reach .*: seeds lie nearer"):
        Reach(limit, most)


def test_without_a_limit_the_first_step_is_as_short_as_usual() -> None:
    assert Reach(0.0, 10.0).first == Reach().first
    assert 0 < Reach(0.0, 0.001).first < 0.001


# What rises


def joint_objective(inputs: Tensor, start: Linearised, labels: Tensor) -> Tensor:
    """DLFuzz's objective of the scores, weighed as at the start of each line [rows]."""
    weights = AnotherClass(10).weights(start.scores, labels, torch.zeros(len(labels)))[MODEL]
    return (weights * TorchTarget(lenet1()).predict(inputs)).sum(1)


def test_the_objective_rises_with_the_first_step_of_every_line() -> None:
    parents = digits()
    children = lenet_ascent(1).mutate(parents, randomness(0, 1))
    start = TorchTarget(lenet1()).linearise(parents.inputs)
    before, after = (joint_objective(some.inputs, start, parents.labels) for some in (parents, children))
    assert (after > before).all()


def test_chosen_neurons_become_more_active_than_without_them() -> None:
    layers = (("conv1", 4), ("conv2", 12))
    target = TorchTarget(lenet1(), [name for name, _ in layers], extremes=True)
    parents = digits()

    def activity(weight: float) -> Tensor:
        choice = NeuronChoice(layers, 16, (uncovered,))  # all of them
        mutator = Ascent(target, AnotherClass(10), 0, 1, choice, weight, iterations=1)
        children = mutator.mutate(parents, randomness(0, 1))
        return torch.cat(list(target.linearise(children.inputs).activations.values()), 1).sum(1)

    at_rest = torch.cat(list(target.linearise(parents.inputs).activations.values()), 1).sum(1)
    assert (activity(1000.0) > at_rest).all()
    assert (activity(1000.0) > activity(0.0)).all()


def test_neurons_are_chosen_once_for_each_line() -> None:
    """DLFuzz §3.2: once for each seed, before the first step."""

    class Counted(NeuronChoice):
        rows: tuple[int, ...] = ()

        def chosen(self, passed: Linearised, rng: torch.Generator) -> Tensor:
            self.rows = (*self.rows, len(passed.scores[MODEL]))
            return super().chosen(passed, rng)

    choice = Counted((("fc", 2),), 1, (uncovered,))
    sloping(choice=choice).mutate(times(vectors(), 3), randomness(0, 1))
    assert choice.rows == (3,)


def test_what_a_step_taught_reaches_the_choice_of_neurons(rng: torch.Generator) -> None:
    choice = NeuronChoice((("fc", 2),), 1, (uncovered,))
    mutator = sloping(choice=choice)
    trace = trace_of(
        torch.zeros(1, 2), activations={"fc": torch.tensor([[0.0, 1.0]])}, extremes={"fc": torch.tensor([[0.0, 1.0]])}
    )
    mutator.learn(replace(lesson(vectors(count=1), torch.ones(1, 1)), trace=trace))
    passed = TorchTarget(Sloping(), ["fc"]).linearise(torch.rand(50, 4))
    assert choice.chosen(passed, rng).unique().tolist() == [0]  # the second was active


# Where there is no way on


class Broken(nn.Module):
    """Two scores of four values, which do not depend on them, or whose gradient is NaN, where the first is so large."""

    def __init__(self, flat_above: float = 2.0, broken_above: float = 2.0) -> None:
        super().__init__()
        self._flat, self._broken = flat_above, broken_above

    def forward(self, inputs: Tensor) -> Tensor:
        first = inputs[:, 0]
        rising = torch.where(first > self._flat, 0.0, 1.0) * inputs.sum(1)
        hidden = (
            (self._broken - first) * (first < self._broken)
        ).sqrt()  # beyond: 0, and its derivative 0 times infinity
        return torch.stack([torch.full_like(first, 9.0), rising + 0 * hidden], 1)


def broken(iterations: int = 3, **where: float) -> Ascent:
    return Ascent(TorchTarget(Broken(**where)), AnotherClass(2, 1), 0, 1, iterations=iterations, reach=Reach(0.02, 5.0))


def three(first: float) -> Candidates:
    """Three parents, of which the middle one begins with that."""
    parents = vectors(0.5)
    parents.inputs[1, 0] = first
    return replace(parents, seeds=seeds_of(parents.inputs.clone(), torch.zeros(3).long()))


def test_a_gradient_that_is_not_finite_ends_the_line_and_is_called_so() -> None:
    parents = three(0.9)
    children = broken(broken_above=0.8).mutate(times(parents, 3), randomness(0, 1))
    assert [line.mutations for line in lines_of(children).values()][1] == (NO_GRADIENT,)
    assert len(children) == 3 + 1 + 3
    assert torch.equal(lines_of(children)[101].inputs, parents.inputs[1:2])
    assert children.inputs.isfinite().all()
    assert children.changed.tolist() == [True] * 3 + [False] + [True] * 3


def test_an_input_without_a_finite_gradient_is_given_as_it_is_however_far_from_its_root() -> None:
    """It is what shows the defect; its root, or what lies between, need not."""
    parents = three(0.9)
    parents.seeds.inputs[1, 0] = 0.1
    children = broken(1, broken_above=0.8).mutate(parents, randomness(0, 1))
    assert children.mutations[1] == NO_GRADIENT
    assert torch.equal(children.inputs[1], parents.inputs[1])


def test_a_gradient_of_zero_leaves_the_input_unchanged() -> None:
    parents = three(0.9)
    children = broken(2, flat_above=0.8).mutate(times(parents, 2), randomness(0, 1))
    line = lines_of(children)[101]
    assert set(line.mutations) == {UNCHANGED}
    assert torch.equal(line.inputs, parents.inputs[1:2].expand(len(line), 4))
    assert all(lines_of(children)[other].changed.all() for other in (100, 102))


def test_a_first_step_too_short_for_eight_bits_does_not_end_the_line() -> None:
    mutator = sloping(as_images=True, reach=Reach(0.001, 5.0))
    children = mutator.mutate(times(vectors(128 / 255), 3), randomness(0, 1))
    assert texts_of(children) == ("unchanged", "ascent, step 2", "ascent, step 3") * 3


def test_a_line_at_the_end_of_the_range_is_unchanged() -> None:
    children = sloping().mutate(vectors(1.0), randomness(0, 1))  # every value would have to rise
    assert children.mutations == (UNCHANGED,) * 3 and torch.equal(children.inputs, torch.ones(3, 4))


# Kinds of inputs


@pytest.mark.parametrize("as_images", [False, True])
def test_whole_numbers_stay_whole_numbers(as_images: bool) -> None:
    images, labels = mnist_sample()
    pixels = (images[:DIGITS] * 255).round().to(torch.uint8)
    target = TorchTarget(lenet1(), mean=[0.0], std=[255.0])
    mutator = Ascent(target, AnotherClass(10), 0, 255, as_images=as_images)
    children = mutator.mutate(times(batch_of(pixels, labels[:DIGITS]), 3), randomness(0, 1))
    assert children.inputs.dtype == torch.uint8
    assert float(relative_distances(children.inputs, children.references).max()) < 0.31
    flipped = target.predict(children.inputs).argmax(1) != children.labels
    assert len(children.parents[flipped].unique()) > DIGITS / 2


@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 2, 2), (1, 1, 2, 2)], ids=["vector", "matrix", "image", "volume"])
def test_inputs_of_any_shape_can_be_ascended(shape: tuple[int, ...]) -> None:
    parents = batch_of(torch.full((2, *shape), 0.5), torch.zeros(2).long())
    children = sloping().mutate(parents, randomness(0, 1))
    assert children.inputs.shape == (2, *shape) and (children.inputs > 0.5).all()


def test_a_root_of_zeros_can_be_left() -> None:
    children = sloping().mutate(times(vectors(0.0), 3), randomness(0, 1))
    assert (children.inputs > 0).all()


@pytest.mark.parametrize("make", [lambda: lenet_ascent(), lambda: lenet_ascent(as_images=True)])
def test_a_batch_is_ascended_as_its_lines_one_after_another(make: Callable[[], Ascent]) -> None:
    parents = times(digits().select(torch.arange(5)), 3)
    whole = make().mutate(parents, randomness(0, 1))
    parts = [make().mutate(parents.select(rows), randomness(0, 1)) for rows in torch.arange(15).split(3)]
    alone = Candidates.joined(parts)
    assert whole.mutations == alone.mutations
    torch.testing.assert_close(whole.inputs, alone.inputs, rtol=0, atol=1 / 255 + 1e-4)


def toward_disagreement(twin: str, as_images: bool) -> tuple[Candidates, Tensor]:
    """Points of one line from each of 20 digits, and which of them LeNet-5 and its twin disagree on."""
    target = Twins(TorchTarget(lenet5()), {TWIN: TorchTarget(TWINS[twin](lenet5()))})
    ascent = Ascent(target, TwinsDisagree(), 0, 1, iterations=10, reach=Reach(0.02, 0.5), as_images=as_images)
    made = ascent.mutate(times(digits(), 10), randomness(0, 1))
    outputs = target.run(made).outputs
    return made, outputs[MODEL].argmax(1) != outputs[TWIN].argmax(1)


@pytest.mark.parametrize("twin", ["weights16", "float16", "bfloat16"])
def test_lines_lead_to_where_twins_disagree_and_end_there(twin: str) -> None:
    made, disagree = toward_disagreement(twin, as_images=False)
    roots = made.roots[disagree]
    assert len(roots) == len(roots.unique()) >= 14
    for root in roots.tolist():
        assert disagree[made.roots == root].nonzero().tolist() == [[int((made.roots == root).sum()) - 1]]


def test_images_that_files_hold_disagree_too_though_steps_are_rounded() -> None:
    made, disagree = toward_disagreement("weights16", as_images=True)
    assert torch.equal(made.inputs, (made.inputs * 255).round() / 255)
    assert len(made.roots[disagree].unique()) >= 4

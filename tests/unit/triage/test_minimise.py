"""Shrinking what was changed, while the same bug shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.inputs.distances import as_image_file, lengths, within
from jostle.mutators.ascent import Ascent
from jostle.mutators.goals import AnotherClass
from jostle.randomness import randomness
from jostle.records import MODEL
from jostle.subjects.torch_target import TorchTarget
from jostle.triage.minimise import Boundary, Shrinking, minimised
from jostle.zoo import lenet1, mnist_sample
from making import batch_of

LENET = TorchTarget(lenet1())


@dataclass(frozen=True)
class Flips:
    """Digits that LeNet-1 takes for others, with what it should take them for."""

    inputs: Tensor
    references: Tensor
    taken_for: Tensor

    def show(self, rows: Tensor, inputs: Tensor) -> Tensor:
        return LENET.predict(inputs).argmax(1) == self.taken_for[rows]

    def boundary(self, inputs: Tensor) -> Boundary:
        passed = LENET.linearise(inputs)
        scores, taken_for = passed.scores[MODEL], self.taken_for[:, None]
        others = scores.scatter(1, taken_for, -torch.inf).argmax(1, keepdim=True)
        weights = torch.zeros_like(scores).scatter_(1, others, -1.0).scatter_(1, taken_for, 1.0)
        return Boundary((weights * scores).sum(1), passed.pull({MODEL: weights}, {}))


@pytest.fixture(scope="module")
def flips() -> Flips:
    """By far larger changes than are needed."""
    images, labels = mnist_sample()
    parents = batch_of(images[:12].clone(), labels[:12])
    mutator = Ascent(LENET, AnotherClass(10), 0, 1, iterations=6, as_images=True)
    made = mutator.mutate(parents.select(torch.arange(12).repeat_interleave(6)), randomness(0, 1))
    noise = torch.randn(made.inputs.shape, generator=randomness(1, 1)) * 0.05
    inputs = as_image_file(made.references + 1.5 * (made.inputs - made.references) + noise, 0, 1)
    said = LENET.predict(inputs).argmax(1)
    flipped = (said != made.labels).nonzero().flatten()
    assert len(flipped) >= 8
    return Flips(inputs[flipped], made.references[flipped], said[flipped])


STORABLE: dict[str, Callable[[Tensor], Tensor]] = {
    "as images": partial(as_image_file, low=0.0, high=1.0),
    "any values": partial(within, low=0.0, high=1.0),
}
every_way = pytest.mark.parametrize(
    ("storable", "gradient"), [(name, gradient) for name in STORABLE for gradient in (True, False)]
)


def how(flips: Flips, storable: str, gradient: bool) -> Shrinking:
    return Shrinking(flips.references, flips.show, STORABLE[storable], flips.boundary if gradient else None)


def distances(inputs: Tensor, flips: Flips) -> Tensor:
    return lengths(inputs - flips.references)


@every_way
def test_what_is_minimised_still_shows_its_bug_and_is_never_farther(
    storable: str, gradient: bool, flips: Flips
) -> None:
    small = minimised(flips.inputs, how(flips, storable, gradient))
    assert (small.shape, small.dtype) == (flips.inputs.shape, flips.inputs.dtype)
    assert flips.show(torch.arange(len(small)), small).all()
    assert (distances(small, flips) <= distances(flips.inputs, flips)).all()


@every_way
def test_a_flip_of_a_lenet_becomes_much_smaller(storable: str, gradient: bool, flips: Flips) -> None:
    small = minimised(flips.inputs, how(flips, storable, gradient))
    share = distances(small, flips) / distances(flips.inputs, flips)
    assert (share < 1).all() and float(share.median()) < (0.6 if gradient else 0.95)


def test_gradients_lead_nearer_than_halving_alone(flips: Flips) -> None:
    led, halved = (minimised(flips.inputs, how(flips, "as images", gradient)) for gradient in (True, False))
    assert float(distances(led, flips).mean()) < 0.8 * float(distances(halved, flips).mean())


@every_way
def test_only_what_can_be_stored_is_given(storable: str, gradient: bool, flips: Flips) -> None:
    small = minimised(flips.inputs, how(flips, storable, gradient))
    assert torch.equal(STORABLE[storable](small), small)


@every_way
def test_what_was_found_is_left_as_it_was(storable: str, gradient: bool, flips: Flips) -> None:
    inputs, references = flips.inputs.clone(), flips.references.clone()
    minimised(flips.inputs, how(flips, storable, gradient))
    assert torch.equal(flips.inputs, inputs) and torch.equal(flips.references, references)


@every_way
def test_minimising_again_makes_nothing_larger(storable: str, gradient: bool, flips: Flips) -> None:
    once = minimised(flips.inputs, how(flips, storable, gradient))
    twice = minimised(once, how(flips, storable, gradient))
    assert (distances(twice, flips) <= distances(once, flips)).all()
    assert flips.show(torch.arange(len(twice)), twice).all()


def test_a_batch_is_minimised_as_its_findings_one_after_another(flips: Flips) -> None:
    together = minimised(flips.inputs, how(flips, "any values", True))
    for row in range(4):
        only = Flips(*(field[row : row + 1] for field in (flips.inputs, flips.references, flips.taken_for)))
        alone = minimised(only.inputs, how(only, "any values", True))
        expected = lengths(together[row : row + 1] - only.references)
        torch.testing.assert_close(lengths(alone - only.references), expected, rtol=0.05, atol=1e-3)


def test_what_is_shown_by_nothing_smaller_stays_as_it_is(flips: Flips) -> None:
    only_itself = replace(how(flips, "any values", True), shows=lambda rows, inputs: torch.zeros(len(rows)).bool())
    assert torch.equal(minimised(flips.inputs, only_itself), flips.inputs)


def test_a_bug_that_everything_shows_shrinks_to_almost_nothing(flips: Flips) -> None:
    always = replace(how(flips, "any values", False), shows=lambda rows, inputs: torch.ones(len(rows)).bool())
    small = minimised(flips.inputs, always)
    assert (distances(small, flips) < 0.01 * distances(flips.inputs, flips)).all()


def test_a_boundary_that_is_not_finite_spoils_nothing(flips: Flips) -> None:
    def nowhere(inputs: Tensor) -> Boundary:
        return Boundary(torch.full((len(inputs),), torch.nan), torch.full_like(inputs, torch.nan))

    small = minimised(flips.inputs, replace(how(flips, "as images", True), boundary=nowhere))
    assert small.isfinite().all() and flips.show(torch.arange(len(small)), small).all()
    assert (distances(small, flips) <= distances(flips.inputs, flips)).all()


def test_an_input_that_is_its_own_reference_stays(flips: Flips) -> None:
    own = replace(how(flips, "as images", True), references=flips.inputs.clone())
    assert torch.equal(minimised(flips.inputs, own), flips.inputs)


# Bugs whose smallest change is known: beyond a plane


@dataclass(frozen=True)
class Beyond:
    """Shown where the values of an input, so weighed, sum up to more than the reference's by one."""

    references: Tensor
    weights: Tensor

    def show(self, rows: Tensor, inputs: Tensor) -> Tensor:
        return self._excess(inputs, self.references[rows]) > 0

    def boundary(self, inputs: Tensor) -> Boundary:
        return Boundary(self._excess(inputs, self.references), self.weights.expand_as(inputs))

    def _excess(self, inputs: Tensor, references: Tensor) -> Tensor:
        return ((inputs.float() - references.float()) * self.weights).flatten(1).sum(1) - 1

    @property
    def nearest(self) -> float:
        return 1 / float(self.weights.norm())


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(6,), (1, 5, 5), (3, 2, 2)]))
def test_a_plane_is_approached_to_where_it_is_nearest(seed: int, shape: tuple[int, ...]) -> None:
    rng = randomness(seed, 0)
    bug = Beyond(torch.randn(4, *shape, generator=rng), torch.randn(shape, generator=rng))
    away = torch.randn(4, *shape, generator=rng)
    along = bug.weights / bug.weights.norm()
    inputs = bug.references + away + 20 * bug.nearest * along
    rows = torch.arange(4)
    shown = bug.show(rows, inputs)
    bug, inputs = Beyond(bug.references[shown], bug.weights), inputs[shown]
    if not len(inputs):
        return
    small = minimised(inputs, Shrinking(bug.references, bug.show, lambda some: some, bug.boundary))
    assert bug.show(torch.arange(len(small)), small).all()
    distance = lengths(small - bug.references)
    assert (distance <= lengths(inputs - bug.references)).all()
    assert (distance >= bug.nearest * 0.999).all() and (distance <= bug.nearest * 1.5).all()


def test_small_changes_that_the_bug_does_not_need_are_undone() -> None:
    bug = Beyond(torch.zeros(1, 20), torch.eye(20)[3])
    inputs = torch.full((1, 20), 0.1)
    inputs[0, 3] = 1.5
    small = minimised(inputs, Shrinking(bug.references, bug.show, lambda some: some))
    assert small[0, 3] > 1 and int((small != 0).sum()) < 10


def test_whole_numbers_stay_whole_numbers() -> None:
    bug = Beyond(torch.zeros(2, 9, dtype=torch.uint8), torch.full((9,), 0.02))
    inputs = torch.full((2, 9), 200, dtype=torch.uint8)
    storable = partial(as_image_file, low=0.0, high=255.0)
    small = minimised(inputs, Shrinking(bug.references, bug.show, storable, bug.boundary))
    assert small.dtype == torch.uint8 and bug.show(torch.arange(2), small).all()
    assert (lengths(small) < 0.5 * lengths(inputs)).all()


def test_a_change_that_must_stay_of_its_kind_only_gets_weaker(flips: Flips) -> None:
    how = Shrinking(flips.references, flips.show, partial(as_image_file, low=0, high=1), flips.boundary, same_kind=True)
    small = minimised(flips.inputs, how)
    before, after = flips.inputs - flips.references, small - flips.references
    assert (lengths(after) < lengths(before)).any()
    assert ((after == 0) | (after.sign() == before.sign())).all()
    assert (after.abs() <= before.abs() + 1e-6).all()


@given(st.lists(st.floats(0.05, 1), min_size=3, max_size=3), st.lists(st.floats(0, 1), min_size=3, max_size=3))
@settings(max_examples=50)
def test_values_are_plain_in_the_end_and_no_farther(ends: list[float], starts: list[float]) -> None:
    """A bug that begins at an odd place is shown by a value of few digits beyond it."""
    inputs, references = torch.tensor([ends]), torch.tensor([starts])

    def shows(rows: Tensor, tried: Tensor) -> Tensor:
        return (tried[:, 0] - references[rows, 0]).abs() >= 0.37 * (inputs[rows, 0] - references[rows, 0]).abs()

    how = Shrinking(references, shows, lambda values: values, plain=True)
    small = minimised(inputs, how)
    assert shows(torch.tensor([0]), small).all()
    assert lengths(small - references) <= lengths(inputs - references) + 1e-6
    exact = minimised(inputs, replace(how, plain=False))
    assert lengths(small - references) <= 1.06 * lengths(exact - references) + 1e-6
    assert (small[0, 1:] == references[0, 1:]).all(), "what nothing needs is as it was"


def test_once_the_time_is_over_no_gradient_is_asked_for(flips: Flips) -> None:
    asked: list[int] = []

    def counting(inputs: Tensor) -> Boundary:
        asked.append(len(inputs))
        return flips.boundary(inputs)

    how = Shrinking(flips.references, flips.show, partial(as_image_file, low=0, high=1), counting)
    minimised(flips.inputs, replace(how, spent=lambda: len(asked) >= 2))
    assert len(asked) == 2

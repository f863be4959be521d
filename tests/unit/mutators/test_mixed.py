"""Several mutators in one campaign: effort goes where it pays."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from jostle.lineage import NO_GRADIENT, UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.earned_shares import EXPLORED
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.noise import Noise
from jostle.randomness import randomness
from jostle.records import Candidates, Lesson
from making import batch_of, lesson, texts_of

MARKED = Mutation(("marked",))


class Marking:
    """Sets every value to its own mark, and writes down what it is taught and given."""

    def __init__(self, mark: float, mutation: Mutation = MARKED) -> None:
        self.mark, self.mutation = mark, mutation
        self.lessons: list[Lesson] = []
        self.given: list[int] = []

    def learn(self, lesson: Lesson) -> None:
        self.lessons.append(lesson)

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        self.given.append(len(parents))
        marked = torch.full_like(parents.inputs, self.mark)
        return replace(parents, inputs=marked, mutations=Mutations.all_of(self.mutation, len(parents)))


def two(cost: float = 1.0) -> tuple[Mixed, Marking, Marking]:
    one, other = Marking(1.0), Marking(2.0)
    return Mixed({"one": Costed(one), "other": Costed(other, cost)}), one, other


def paid(kept: int = 0, found: int = 0, name: str = "one") -> Lesson:
    """A step in which one of the mutators was first to show so many things."""
    marked = MARKED._replace(mutator=name)
    rows = replace(batch_of(torch.zeros(kept, 2)), mutations=Mutations.all_of(marked, kept))
    return lesson(rows, torch.ones(kept, 1), [marked] * found)


def test_at_first_all_have_the_same_share() -> None:
    mixed, one, other = two()
    assert mixed.shares() == {"one": 0.5, "other": 0.5}
    mixed.mutate(batch_of(torch.zeros(100, 2)), randomness(0, 1))
    assert one.given == other.given == [50]


def test_who_costs_more_has_less() -> None:
    mixed, _, _ = two(cost=4.0)
    shares = mixed.shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["one"] - EXPLORED / 2 == pytest.approx(4 * (shares["other"] - EXPLORED / 2))


@pytest.mark.parametrize("pays", ["kept", "found"])
def test_what_pays_has_more_and_what_does_not_is_still_tried(pays: str) -> None:
    mixed, one, other = two()
    before = 0.5
    for _ in range(40):
        mixed.learn(paid(**{pays: 5}))
        assert mixed.shares()["one"] >= before - 1e-9
        before = mixed.shares()["one"]
    assert before > 0.85
    assert mixed.shares()["other"] >= EXPLORED / 2
    mixed.mutate(batch_of(torch.zeros(200, 2)), randomness(0, 1))
    assert one.given[0] > 5 * other.given[0] > 0


def test_a_new_bug_is_worth_more_than_new_coverage() -> None:
    by_bug, _, _ = two()
    by_gain, _, _ = two()
    by_bug.learn(paid(found=3))
    by_gain.learn(paid(kept=3))
    assert by_bug.shares()["one"] > by_gain.shares()["one"] > 0.5


def test_what_paid_long_ago_counts_for_nothing() -> None:
    mixed, _, _ = two()
    for _ in range(30):
        mixed.learn(paid(kept=5))
    for _ in range(100):
        mixed.learn(paid(kept=5, name="other"))
    assert mixed.shares()["other"] > 0.85


def test_every_row_has_one_child_of_one_mutator_with_its_name() -> None:
    mixed, _, _ = two()
    parents = batch_of(torch.zeros(31, 2))
    children = mixed.mutate(parents, randomness(0, 1))
    assert sorted(children.parents.tolist()) == parents.parents.tolist()
    for mark, text in zip(children.inputs[:, 0].tolist(), texts_of(children), strict=True):
        assert text == {1.0: "one: marked", 2.0: "other: marked"}[mark]


@pytest.mark.parametrize("mutation", [UNCHANGED, NO_GRADIENT])
def test_children_that_came_out_alike_are_still_known_for_it(mutation: Mutation) -> None:
    mixed = Mixed({"one": Costed(Marking(1.0, mutation))})
    children = mixed.mutate(batch_of(torch.zeros(5, 2)), randomness(0, 1))
    assert not children.changed.any()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_are_mutated_too(rows: int) -> None:
    for seed in range(5):
        assert len(two()[0].mutate(batch_of(torch.zeros(rows, 2)), randomness(seed, 1))) == rows


def test_lessons_are_passed_on_to_mutators_that_learn() -> None:
    learner = Marking(1.0)
    mixed = Mixed({"one": Costed(learner), "noise": Costed(Noise(0.1, 0, 1))})
    lessons = [paid(kept=2), paid(found=1)]
    for some in lessons:
        mixed.learn(some)
    assert learner.lessons == lessons


def test_the_same_lessons_and_seed_give_the_same_children() -> None:
    def children(seed: int) -> Candidates:
        mixed = Mixed({"mild": Costed(Noise(0.1, 0, 1)), "violent": Costed(Noise(0.5, 0, 1), 2)})
        for step in range(5):
            mixed.learn(paid(kept=step, found=step % 2, name="violent"))
        return mixed.mutate(batch_of(torch.full((40, 3), 0.5)), randomness(seed, 1))

    one, same, other = children(0), children(0), children(1)
    assert torch.equal(one.inputs, same.inputs) and one.mutations == same.mutations
    assert not torch.equal(one.inputs, other.inputs)


def test_neighbouring_rows_stay_together_because_they_may_be_one_line() -> None:
    mixed, _, _ = two()
    children = mixed.mutate(batch_of(torch.zeros(20, 2)), randomness(3, 1))
    by_parent = dict(zip(children.parents.tolist(), children.mutations, strict=True))
    around = [by_parent[100 + row] for row in range(20)]
    assert sum(one != other for one, other in zip(around, [*around[1:], around[0]], strict=True)) == 2

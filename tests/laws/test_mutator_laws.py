"""What do we try next? What holds of every Mutator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.interfaces import Mutator
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.noise import Noise
from jostle.randomness import randomness
from jostle.records import Candidates
from making import batch_of


@dataclass(frozen=True)
class Case:
    """A mutator with the value range and the L∞ radius it promises to keep, and what parents it is made for."""

    make: Callable[[], Mutator]
    low: float = 0.0
    high: float = 1.0
    radius: float = float("inf")
    away: float = 1.0  # how far parents may be from their root, as a share of the range
    images: bool = False  # takes nothing else


MUTATORS: dict[str, Case] = {
    "noise": Case(lambda: Noise(0.1, 0, 1)),
    "violent noise": Case(lambda: Noise(50, 0, 1)),
    "noise in a ball": Case(lambda: Noise(0.3, 0, 1, radius=0.2), radius=0.2),
    "noise on bytes": Case(lambda: Noise(25, 0, 255, radius=16), 0, 255, 16),
    "noise around zero": Case(lambda: Noise(0.2, -1, 1, radius=0.4), -1, 1, 0.4),
    "metamorphic": Case(lambda: Metamorphic(0, 1), away=0.1, images=True),
    "metamorphic on bytes": Case(lambda: Metamorphic(0, 255), 0, 255, away=0.1, images=True),
    "metamorphic around zero": Case(lambda: Metamorphic(-1, 1), -1, 1, away=0.1, images=True),
}
every_mutator = pytest.mark.parametrize("name", MUTATORS)


def parents_for(case: Case, seed: int, shape: tuple[int, ...] = (6, 1, 4, 4)) -> Candidates:
    """Parents somewhere in the ball around their root seeds, which touch both ends of the range."""
    rng = randomness(seed, 0)
    span = case.high - case.low
    references = (torch.rand(shape, generator=rng) * 1.4 - 0.2).clamp(0, 1) * span + case.low
    away = (torch.rand(shape, generator=rng) * 2 - 1) * min(case.radius, case.away * span)
    return batch_of((references + away).clamp(case.low, case.high), references=references)


@every_mutator
@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_children_stay_in_the_range_and_in_the_ball_around_their_root(name: str, seed: int) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, seed)
    children = case.make().mutate(parents, randomness(seed, 1))
    assert children.inputs.isfinite().all()
    assert case.low <= float(children.inputs.min()) <= float(children.inputs.max()) <= case.high
    change = (children.inputs.double() - parents.references.double()).abs().max()
    assert float(change) <= case.radius + 1e-6 * case.high


@every_mutator
def test_there_is_one_child_per_parent_in_its_shape_and_lineage(name: str) -> None:
    case = MUTATORS[name]
    for shape in [(2, 3, 8, 8), (2, 1, 9, 6)] if case.images else [(5, 3), (2, 3, 8, 8), (1, 7, 2)]:
        parents = parents_for(case, 0, shape)
        children = case.make().mutate(parents, randomness(0, 1))
        assert (children.inputs.shape, children.inputs.dtype) == (shape, torch.float32)
        for field in ("originals", "parents", "roots", "labels"):
            assert torch.equal(getattr(children, field), getattr(parents, field))
        assert len(children) == len(parents) == len(children.placements) and all(children.steps)


@every_mutator
def test_every_child_differs_from_its_parent_and_from_its_siblings(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0).select(torch.tensor([0, 0, 1, 1]))
    children = case.make().mutate(parents, randomness(0, 1)).inputs.flatten(1)
    assert (children != parents.inputs.flatten(1)).any(1).all()
    assert len(children.unique(dim=0)) == 4


@every_mutator
def test_parents_are_left_as_they_were(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0)
    fields = ("inputs", "references", "originals", "placements")
    before = [getattr(parents, field).clone() for field in fields]
    case.make().mutate(parents, randomness(0, 1)).inputs.zero_()
    assert all(torch.equal(getattr(parents, field), was) for field, was in zip(fields, before, strict=True))


@every_mutator
def test_the_generator_alone_decides_the_children(name: str) -> None:
    case = MUTATORS[name]
    parents = parents_for(case, 0)
    torch.manual_seed(1)
    first = case.make().mutate(parents, randomness(7, 1)).inputs
    state = torch.get_rng_state()
    assert torch.equal(case.make().mutate(parents, randomness(7, 1)).inputs, first)
    assert not torch.equal(case.make().mutate(parents, randomness(7, 2)).inputs, first)
    assert torch.equal(torch.get_rng_state(), state)

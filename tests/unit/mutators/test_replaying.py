"""The way from a seed to an input gone again."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jostle.inputs.geometry import Border, Placements, unmoved
from jostle.lineage import SEED, Mutation
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.replaying import NEUTRAL, MutationStep, Transformation, Way
from jostle.mutators.transforms import TRANSFORMS
from jostle.randomness import randomness
from jostle.zoo import mnist_sample
from making import batch_of

TOLD = [*NEUTRAL, "blur"]


def mutants(names: list[str], seed: int, border: str = "dark", rounds: int = 1) -> list[tuple[torch.Tensor, Way]]:
    """Mutants of digits by these transformations, each with its way."""
    images, labels = mnist_sample()
    parents = seeds = batch_of(images[:16].clone(), labels[:16])
    mutator = Metamorphic(0, 1, beta=0.9, transforms={name: TRANSFORMS[name] for name in names}, border=border)
    steps: list[list[MutationStep]] = [[] for _ in range(16)]
    for number in range(rounds):
        children = mutator.mutate(parents, randomness(seed, number))
        for row, mutation in enumerate(children.mutations):
            if mutation.operations:
                steps[row].append(MutationStep(mutation, children.inputs[row] - parents.inputs[row]))
        parents = children
    placements = Placements.of(parents.lineage).rows
    ways = [Way(seeds.inputs[row], steps[row], placements[row], (0.0, 1.0)) for row in range(16)]
    return [(parents.inputs[row], ways[row]) for row in range(16) if steps[row]]


@pytest.mark.parametrize("border", ["dark", "edge", "reflect"])
@pytest.mark.parametrize("name", TOLD)
def test_a_transformation_is_made_again_from_its_text(name: str, border: str) -> None:
    for seed in range(2):
        made = mutants([name], seed, border)
        assert made
        for input, way in made:
            again = way.replayed([1.0], Border(border))
            assert way.can_be_replayed and again.from_texts
            torch.testing.assert_close(again.input, input, rtol=0, atol=6e-3)  # texts tell three digits


@pytest.mark.parametrize("seed", range(3))
def test_a_way_of_many_steps_is_gone_again_noise_as_it_was(seed: int) -> None:
    made = [(input, way) for input, way in mutants(list(TRANSFORMS), seed, rounds=4) if len(way) > 1]
    assert made
    for input, way in made:
        again = way.replayed([1.0] * len(way), Border.DARK)
        assert way.can_be_replayed
        torch.testing.assert_close(again.input, input, rtol=0, atol=0.03)  # small differences of texts add up


@pytest.mark.parametrize("name", TOLD)
def test_what_goes_less_far_is_nearer_and_says_how_far_it_went(name: str) -> None:
    for _, way in mutants([name], 0):
        ends = [way.replayed([share], Border.DARK) for share in (0.25, 0.5, 1.0)]
        sizes = [abs(step.parameter - NEUTRAL.get(name, 0)) for step in map(transformation, ends)]
        assert name == "blur" or sizes == sorted(sizes)
        for end in ends:  # the text alone makes it again
            (mutation,) = end.mutations
            again = Way(way._seed, [MutationStep(mutation, end.input)], end.placement, (0.0, 1.0)).replayed(
                [1.0], Border.DARK
            )
            torch.testing.assert_close(again.input, end.input, rtol=0, atol=1e-4)


def transformation(end: object) -> Transformation:
    known = Transformation.of(end.mutations[0])  # type: ignore[attr-defined]
    assert known is not None
    return known


@given(st.sampled_from(sorted(NEUTRAL)), st.floats(-3, 3), st.floats(0.01, 1))
def test_few_digits_never_go_farther_than_the_step_did(name: str, parameter: float, share: float) -> None:
    step = Transformation(name, float(f"{parameter:.3g}"))
    less = step.lessened(share)
    assert abs(less.parameter - NEUTRAL[name]) <= abs(step.parameter - NEUTRAL[name]) + 5e-3


def test_a_shift_goes_less_far_in_the_same_direction() -> None:
    for _, way in mutants(["translation"], 0):
        full, half = (way.replayed([share], Border.DARK).placement[:, 2] for share in (1.0, 0.5))
        torch.testing.assert_close(half / half.norm(), full / full.norm())
        assert float(half.norm() / full.norm()) == pytest.approx(0.5, rel=0.1)


def test_a_step_that_is_left_out_is_not_there() -> None:
    seed = torch.zeros(1, 8, 8)
    bright = MutationStep(Mutation(("brightness 0.2",)), torch.zeros(()))
    unknown = MutationStep(Mutation(("noise",)), torch.ones(1, 8, 8))
    way = Way(seed, [bright, unknown], unmoved(1)[0], (0.0, 1.0))
    assert torch.equal(way.replayed([1.0, 0.0], Border.DARK).input, torch.full((1, 8, 8), 0.2))
    half = way.replayed([0.0, 0.5], Border.DARK)
    assert torch.equal(half.input, torch.full((1, 8, 8), 0.5)) and half.mutations == (Mutation(("noise",)),)
    assert not half.from_texts and way.replayed([1.0, 0.0], Border.DARK).from_texts


def test_whole_numbers_stay_whole() -> None:
    seed = torch.full((1, 4, 4), 100, dtype=torch.uint8)
    way = Way(seed, [MutationStep(Mutation(("contrast 0.85",)), seed)], unmoved(1)[0], (0.0, 255.0))
    assert torch.equal(way.replayed([1.0], Border.DARK).input, torch.full((1, 4, 4), 85, dtype=torch.uint8))


@pytest.mark.parametrize(
    "text", ["noise", "noise 0.02", "rotation", "rotation nan", "rotation a lot", "blur 9", "gradient: rotation 5"]
)
def test_what_a_text_does_not_tell_is_no_transformation(text: str) -> None:
    assert Transformation.of(Mutation.parsed(text)) is None and Transformation.of(SEED) is None


def test_an_image_that_was_moved_by_an_unknown_step_cannot_be_gone_again() -> None:
    moved = torch.tensor([[0.9, 0.1, 0.0], [-0.1, 0.9, 0.0]])
    assert not Way(
        torch.zeros(1, 4, 4), [MutationStep(Mutation(("noise",)), torch.zeros(1, 4, 4))], moved, (0, 1)
    ).can_be_replayed

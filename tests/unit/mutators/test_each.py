"""Several inputs, each changed by a mutator of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from jostle.catalogue import mutator_of
from jostle.composition.settle import settled
from jostle.errors import PreflightFailed, UsageError
from jostle.inputs.named_arrays import InputWishes, packed_seeds
from jostle.inputs.several import Several
from jostle.interfaces import Mutator
from jostle.lineage import Change, Mutation
from jostle.mutations import Mutations
from jostle.mutators.each import Each
from jostle.mutators.havoc import NAMES, Havoc
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.noise import Noise
from jostle.part import PartContext
from jostle.randomness import randomness
from jostle.recipes.random import RANDOM
from jostle.records import Candidates, Seeds
from jostle.task import Task
from making import lesson, options, placements_of, seeds_of, texts_of

IMAGES = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(0)).numpy()
AGES = torch.arange(20, 60).numpy()


def parents(*inputs: str) -> Candidates:
    rows, domain = packed_seeds("seeds", {"image": IMAGES, "age": AGES}, wanted=InputWishes(inputs))
    return replace(seeds_of(rows), domain=domain).as_candidates()


def made(seeds: Seeds, **chosen: object) -> Mutator:
    settings = settled(RANDOM, options(mutator="each", oracle="nan", **chosen), Task.UNKNOWN)
    return mutator_of(settings, PartContext(seeds))


def changed(rows: Candidates, seeds: Candidates) -> tuple[torch.Tensor, torch.Tensor]:
    """[rows] bool: whose image, and whose age is another."""
    unlike = rows.inputs != seeds.inputs
    return unlike[:, :-1].any(1), unlike[:, -1]


def test_every_child_changes_one_input_or_several_and_names_them() -> None:
    seeds = parents().select(torch.arange(40).repeat(10))
    children = made(seeds.seeds).mutate(seeds, randomness(0, 1))
    image, age = changed(children, seeds)
    assert 0.5 < float(image.float().mean()) < 0.8  # one of two always, the other in a third of all cases
    assert bool((image & age).any()) and bool((image & ~age).any()) and bool((~image & age).any())
    for row, text in enumerate(texts_of(children)):
        assert ("image noise" in text) >= bool(image[row]) and ("age" in text) >= bool(age[row])


def test_an_age_stays_a_whole_number_in_the_range_of_the_seeds_and_steps_by_a_tenth_of_it() -> None:
    seeds = parents("age")
    children = made(seeds.seeds).mutate(seeds, randomness(0, 1))
    steps = (children.inputs - seeds.inputs)[:, -1]
    assert seeds.seeds.domain is not None and seeds.seeds.domain.outside(children.inputs) is None
    assert 2 < float(steps.abs().mean()) < 6  # of 39 years


def test_a_child_that_is_rounded_to_its_parent_is_unchanged() -> None:
    seeds = parents("age=noise")
    children = made(seeds.seeds, sigma=1e-5).mutate(seeds, randomness(0, 1))
    assert torch.equal(children.inputs, seeds.inputs)
    assert all(mutation.change is Change.UNCHANGED for mutation in children.mutations)


def test_what_is_not_named_is_fixed() -> None:
    seeds = parents("image=noise")
    image, age = changed(made(seeds.seeds).mutate(seeds, randomness(0, 1)), seeds)
    assert image.all() and not age.any()


def test_a_moved_image_is_moved_once_and_its_reference_with_it() -> None:
    seeds = parents("image=metamorphic", "age=noise")
    mutator, rows = made(seeds.seeds), seeds
    for step in range(1, 4):
        before = rows
        rows = mutator.mutate(rows, randomness(0, step))
        assert (rows.moved | ~before.moved).all()
        assert torch.equal(placements_of(rows)[before.moved], placements_of(before)[before.moved])
    assert rows.moved.any() and not rows.moved.all()
    references = rows.references
    assert torch.equal((references[:, :-1] != rows.originals[:, :-1]).any(1), rows.moved)
    assert torch.equal(references[:, -1], rows.originals[:, -1])


def test_rows_of_unmoved_and_moved_images_stay_together_when_selected_and_joined() -> None:
    seeds = parents("image=metamorphic", "age=noise")
    children = made(seeds.seeds).mutate(seeds, randomness(0, 1))
    both = Candidates.joined([seeds, children]).select(torch.arange(20, 60))
    assert torch.equal(both.moved, torch.cat([seeds.moved, children.moved])[20:60])


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (("image=noisy",), "--input image: 'noisy' is unknown: did you mean noise"),
        (("image=gradient",), "--input image: 'gradient' is unknown"),
        (("age=metamorphic",), r"--input age=metamorphic: inputs of shape \[\] are no images"),
    ],
)
def test_a_mutator_that_an_input_cannot_have_is_refused(inputs: tuple[str, ...], problem: str) -> None:
    with pytest.raises((UsageError, PreflightFailed), match=problem):
        made(parents(*inputs).seeds)


def test_a_mutator_that_learns_is_told_what_was_done_to_its_own_input() -> None:
    image, age = Havoc(0, 1), Havoc(20, 59)
    rows = parents("image=havoc", "age=havoc")
    domain = rows.seeds.domain
    assert isinstance(domain, Several)
    each = Each(domain, {"image": image, "age": age})
    done = Mutation(("image fill", "age scale", "image swap"))
    each.learn(
        lesson(replace(rows, mutations=Mutations.all_of(done, 40)), torch.ones(40, 1), [Mutation(("age shift",))])
    )
    assert {name for name, share in image.shares().items() if share > 1 / len(NAMES)} == {"fill", "swap"}
    assert {name for name, share in age.shares().items() if share > 1 / len(NAMES)} == {"scale", "shift"}


def test_the_radius_of_havoc_is_scaled_to_the_range_of_each_input() -> None:
    seeds = parents("age=havoc").select(torch.arange(40).repeat(10))
    children = made(seeds.seeds, havoc_radius=0.1).mutate(seeds, randomness(0, 1))
    assert 2 < float((children.inputs - seeds.inputs)[:, -1].abs().max()) <= 4  # of 39 years, as whole numbers


def test_it_needs_several_inputs() -> None:
    with pytest.raises(UsageError, match="--mutator each is for several inputs"):
        made(replace(seeds_of(torch.rand(3, 4)), domain=parents().seeds.domain.domains["age"]))  # type: ignore[union-attr]


def test_two_moved_images_are_refused() -> None:
    with pytest.raises(UsageError, match="metamorphic or audio moves one input only"):
        packed_seeds("seeds", {"a": IMAGES, "b": IMAGES}, wanted=InputWishes(("a=metamorphic", "b=metamorphic")))


def test_the_mutators_of_inputs_see_their_own_input_alone() -> None:
    domain = parents("image=metamorphic", "age").seeds.domain
    each = Each(domain, {"image": Metamorphic(0, 1), "age": Noise(1, 20, 59)})  # type: ignore[arg-type]
    seeds = parents("image=metamorphic", "age")
    assert each.mutate(seeds, randomness(0, 1)).inputs.shape == seeds.inputs.shape

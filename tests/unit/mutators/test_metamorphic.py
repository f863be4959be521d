"""Algorithm 2: at most one affine step, and Equation 1 over any number of generations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.geometry import Border, place
from jostle.mutators.fitted_parameters import VISIBLE
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.transform_ranges import RANGES
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Transform
from jostle.randomness import randomness
from jostle.records import Candidates
from jostle.zoo import mnist_sample
from making import batch_of, placements_of, seeds_of, texts_of

AFFINE = {name for name, transform in TRANSFORMS.items() if isinstance(transform, Affine)}
PIXEL = TRANSFORMS.keys() - AFFINE


def only(*names: str) -> dict[str, Transform]:
    return {name: TRANSFORMS[name] for name in names}


def smooth(count: int, channels: int, side: int = 12) -> Tensor:
    """Images from 0 to 1 that look like something: a coarse pattern in black surroundings, enlarged."""
    coarse = torch.rand(count, channels, 4, 4, generator=randomness(0, channels))
    coarse = torch.nn.functional.pad(coarse, (1, 1, 1, 1))
    return torch.nn.functional.interpolate(coarse, (side, side + 3), mode="bilinear")


def generations(mutator: Metamorphic, images: Tensor, count: int, seed: int = 0) -> Iterator[Candidates]:
    """A child of each image, a child of each of these, and so on."""
    parents = seeds_of(images).as_candidates()
    for number in range(count):
        children = mutator.mutate(parents, randomness(seed, number))
        yield children
        parents = replace(children, parents=torch.arange(len(images)) + number * len(images))


def kinds_of(children: Candidates) -> list[str]:
    return [step.split()[0] for step in texts_of(children)]


@dataclass(frozen=True)
class Case:
    """Images in a range, and the shares of Equation 1."""

    images: Tensor
    low: float = 0.0
    high: float = 1.0
    alpha: float = 0.02
    beta: float = 0.2
    border: Border = Border.DARK

    def mutator(self, tries: int = 50) -> Metamorphic:
        return Metamorphic(self.low, self.high, self.alpha, self.beta, tries, border=self.border)


CASES: dict[str, Case] = {
    "one channel": Case(smooth(24, 1)),
    "three channels of 0..255": Case(smooth(24, 3) * 255, 0, 255),
    "five channels of -1..1": Case(smooth(24, 5) * 2 - 1, -1, 1),
    "small alpha and beta": Case(smooth(24, 1), alpha=0.005, beta=0.05),
    "large alpha, small beta": Case(smooth(24, 1), alpha=0.3, beta=0.05),
    "small alpha, large beta": Case(smooth(24, 1), alpha=0.001, beta=0.6),
    "bytes": Case((smooth(240, 3) * 255).round().to(torch.uint8), 0, 255),
    "flat grey": Case(torch.full((24, 1, 8, 8), 0.4)),
    "black": Case(torch.zeros(24, 1, 8, 8)),
    "white": Case(torch.ones(24, 3, 8, 8)),
    "one pixel": Case(torch.full((24, 1, 1, 1), 0.5)),
    "edges that go on": Case(1 - smooth(24, 3), border=Border.EDGE),
    "mirrored bytes": Case((smooth(240, 3) * 200 + 50).round().to(torch.uint8), 0, 255, border=Border.REFLECT),
    "volumes": Case(smooth(24, 6).unflatten(1, (2, 3))),
    "mirrored volumes of -1..1": Case(smooth(24, 5)[:, None] * 2 - 1, -1, 1, border=Border.REFLECT),
}
every_case = pytest.mark.parametrize("name", CASES)


def meaningful(case: Case, children: Candidates) -> Tensor:
    """Equation 1 [rows], for what the candidates say they are compared with."""
    span = case.high - case.low
    change = ((children.inputs.double() - children.references.double()).abs() / span).flatten(1)
    rounding = 1e-5 if case.images.is_floating_point() else 0.0
    few = (change > VISIBLE + rounding).sum(1) < case.alpha * change.shape[1]
    return few | (change.amax(1) < case.beta + rounding)


@every_case
def test_every_child_is_meaningful_against_its_reference(name: str) -> None:
    case = CASES[name]
    for children in generations(case.mutator(), case.images, 12):
        assert meaningful(case, children).all()
        assert case.low <= float(children.inputs.min()) <= float(children.inputs.max()) <= case.high
        assert (children.inputs.dtype, children.inputs.shape) == (case.images.dtype, case.images.shape)


@every_case
def test_over_a_long_chain_there_is_at_most_one_affine_step(name: str) -> None:
    case = CASES[name]
    steps = torch.zeros(len(case.images))
    seen: set[str] = set()
    before = seeds_of(case.images).as_candidates()
    for children in generations(case.mutator(), case.images, 25):
        moving = torch.tensor([kind in AFFINE for kind in kinds_of(children)])
        steps += moving
        seen |= set(kinds_of(children))
        assert int(steps.max()) <= 1
        assert torch.equal(children.moved, steps > 0)
        assert torch.equal(placements_of(children)[~moving], placements_of(before)[~moving])
        before = children
    assert seen & AFFINE and seen & PIXEL


@every_case
def test_a_reference_is_the_root_moved_as_the_image_was(name: str) -> None:
    case = CASES[name]
    for children in generations(case.mutator(), case.images, 6):
        assert torch.equal(children.originals, case.images)
        still = ~children.moved
        assert torch.equal(children.references[still], case.images[still])
        placed = place(case.images.float(), placements_of(children), case.border)
        step = 0.51 if case.images.dtype == torch.uint8 else 1e-4
        torch.testing.assert_close(children.references.float(), placed, rtol=0, atol=step)


def test_a_moved_seed_is_its_own_reference() -> None:
    images = smooth(40, 3)
    children = Metamorphic(0, 1, transforms=only(*AFFINE)).mutate(seeds_of(images).as_candidates(), randomness(0, 0))
    assert children.moved.all() and set(kinds_of(children)) == AFFINE
    torch.testing.assert_close(children.inputs, children.references, rtol=0, atol=1e-5)


@every_case
def test_with_affine_transformations_only_the_second_generation_is_the_first(name: str) -> None:
    case = CASES[name]
    mutator = Metamorphic(case.low, case.high, case.alpha, case.beta, transforms=only(*AFFINE), border=case.border)
    first, second, third = generations(mutator, case.images, 3)
    assert first.moved.all() if name != "black" else not first.moved.any()  # nobody sees darkness move
    for later in (second, third):
        assert set(texts_of(later)) == {"unchanged"}
        assert torch.equal(later.inputs, first.inputs) and torch.equal(placements_of(later), placements_of(first))


@pytest.mark.parametrize("names", [("noise",), ("contrast", "blur"), ("brightness", "rotation"), tuple(TRANSFORMS)])
def test_only_the_named_transformations_are_used_and_each_is(names: tuple[str, ...]) -> None:
    used: set[str] = set()
    for children in generations(Metamorphic(0, 1, beta=0.5, transforms=only(*names)), smooth(60, 1), 3):
        used |= set(kinds_of(children)) - {"unchanged"}
    assert used == set(names)


def test_every_kind_is_as_likely_as_another_where_all_succeed() -> None:
    images = smooth(1, 1).expand(4000, -1, -1, -1)
    mutator = Metamorphic(0, 1, alpha=0.999, beta=0.999)
    (children,) = generations(mutator, images, 1)
    shares = [kinds_of(children).count(name) / 4000 for name in TRANSFORMS]
    assert shares == pytest.approx([1 / 8] * 8, abs=0.02)


def test_parameters_are_drawn_from_the_whole_range_and_told() -> None:
    wide = {"brightness": replace(TRANSFORMS["brightness"], low=-0.1, high=0.3)}
    images = torch.full((2000, 1, 2, 2), 0.5)
    (children,) = generations(Metamorphic(0, 1, beta=0.9, transforms=wide), images, 1)
    told = torch.tensor([float(step.split()[1]) for step in texts_of(children)])
    torch.testing.assert_close(children.inputs[:, 0, 0, 0] - 0.5, told, rtol=0.01, atol=1e-4)
    assert told.min() < -0.09 and told.max() > 0.29 and float(told.mean()) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("tries", "expected"), [(1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (11, 0.0005)])
def test_so_many_tries_are_made_before_a_row_stays_unchanged(tries: int, expected: float) -> None:
    # Half of these parameters change every value by beta or more.
    half = {
        "lit": Filter(0.0, 1.0, lambda images, parameters, rng: images + 0.1 + (parameters < 0.5).view(-1, 1, 1, 1))
    }
    images = torch.full((3000, 1, 2, 2), 0.5)
    (children,) = generations(Metamorphic(0, 1, tries=tries, transforms=half), images, 1)
    unchanged = torch.tensor([step == "unchanged" for step in texts_of(children)])
    assert float(unchanged.float().mean()) == pytest.approx(expected, abs=0.03)
    assert torch.equal(children.inputs[unchanged], images[unchanged])


@pytest.mark.parametrize(("name", "low", "high"), [("brightness", 0.1, 0.3), ("contrast", 0.2, 1.5)])
def test_contrast_and_brightness_are_drawn_where_they_succeed(name: str, low: float, high: float) -> None:
    wide = {name: replace(TRANSFORMS[name], low=low, high=high)}
    images = smooth(500, 3)
    (children,) = generations(Metamorphic(0, 1, tries=1, transforms=wide), images, 1)
    told = torch.tensor([float(step.split()[1]) for step in texts_of(children) if step != "unchanged"])
    assert len(told) > 0.95 * len(images)  # the others could not be seen
    assert float(told.min()) >= low and float(told.max()) <= high and float(told.std()) > 0.02


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 255), (-1, 1)])
def test_a_row_that_no_try_can_change_stays_exactly_as_it_is(low: float, high: float) -> None:
    strong = {"brightness": replace(TRANSFORMS["brightness"], low=0.3, high=0.4)}
    shares = torch.rand(5, 3, 9, 9, generator=randomness(0, 0), dtype=torch.float64) * 0.6
    images = (shares * (high - low) + low).float()
    for children in generations(Metamorphic(low, high, tries=60, transforms=strong), images, 2):
        assert texts_of(children) == ("unchanged",) * 5
        assert torch.equal(children.inputs, images)


def test_siblings_of_one_parent_are_made_as_if_each_had_its_own() -> None:
    parents = batch_of(smooth(6, 1)).select(torch.tensor([4, 0, 4, 4, 2, 0]))
    copied = replace(parents, parents=torch.arange(6))
    together, apart = (Metamorphic(0, 1).mutate(rows, randomness(3, 0)) for rows in (parents, copied))
    assert together.mutations == apart.mutations
    torch.testing.assert_close(together.inputs, apart.inputs)


def test_all_slices_of_a_volume_are_changed_by_one_parameter() -> None:
    volumes = smooth(60, 1)[:, :, None].expand(-1, -1, 4, -1, -1)  # of slices that are alike
    mutator = Metamorphic(0, 1, transforms=only(*TRANSFORMS.keys() - {"noise"}))
    for children in generations(mutator, volumes, 3):
        first = children.inputs[:, :, :1]
        torch.testing.assert_close(children.inputs, first.expand_as(children.inputs), rtol=0, atol=1e-5)
    assert children.moved.any()


def test_a_volume_of_one_slice_is_changed_as_its_image_is() -> None:
    images = smooth(60, 3)
    flat, deep = (list(generations(Metamorphic(0, 1), some, 3)) for some in (images, images[:, :, None]))
    for one, other in zip(flat, deep, strict=True):
        assert texts_of(one) == texts_of(other) and torch.equal(one.inputs, other.inputs[:, :, 0])


def test_what_was_moved_with_another_border_is_refused() -> None:
    (moved,) = generations(Metamorphic(0, 1, transforms=only("rotation")), smooth(3, 1), 1)
    with pytest.raises(UsageError, match="border dark cannot go on with border edge: give all mutators"):
        Metamorphic(0, 1, border="edge").mutate(moved, randomness(0, 0))


def test_an_unknown_border_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="--border 'reflection' is unknown: did you mean reflect"):
        Metamorphic(0, 1, border="reflection")


def test_the_parents_are_left_as_they_were() -> None:
    parents = batch_of(smooth(20, 1))
    inputs, placements, roots = parents.inputs.clone(), placements_of(parents).clone(), parents.originals.clone()
    Metamorphic(0, 1).mutate(parents, randomness(0, 0)).inputs.zero_()
    assert torch.equal(parents.inputs, inputs) and torch.equal(placements_of(parents), placements)
    assert torch.equal(parents.originals, roots)


def tried(mutator: Metamorphic, parents: Candidates, tries: int, seed: int) -> tuple[Tensor, Tensor]:
    """Many tries for each parent: which are given up unmade, and which are good after all."""
    rng = randomness(seed, 0)
    ancestors, rows = mutator._ancestors(parents), torch.arange(len(parents))
    kinds = mutator._drawn_kinds(ancestors.moved, tries, rng)
    parameters = mutator._lows[kinds] + mutator._lengths[kinds] * torch.rand(kinds.shape, generator=rng)
    prospects = mutator._prospects(ancestors, rows)
    hopeless = prospects.hopeless(kinds, parameters) & ~prospects.without_effect.gather(1, kinds)
    flat = rows[:, None].expand(-1, tries).flatten()
    attempt = mutator._attempt(ancestors, flat, kinds.flatten(), parameters.flatten(), rng)
    good = torch.empty(len(flat), dtype=torch.bool).index_copy_(0, attempt.order, attempt.good)
    return hopeless, good.view_as(hopeless)


def dotted(count: int) -> Tensor:
    """One bright pixel on even grey, which a blur spreads to few others."""
    images = torch.full((count, 1, 28, 28), 0.3)
    images[:, :, 14, 14] = 1
    return images


SCREENED = {
    "digits": mnist_sample()[0][:80],
    "smooth": smooth(80, 3),
    "random": torch.rand(80, 3, 10, 10, generator=randomness(0, 0)),
    "nearly black": smooth(80, 1) * 0.004,
    "nearly white": 1 - smooth(80, 1) * 0.004,
    "a dot on grey": dotted(80),
}


@pytest.mark.parametrize("name", SCREENED)
def test_few_tries_are_given_up_that_would_succeed(name: str) -> None:
    mutator, images = Metamorphic(0, 1), SCREENED[name]
    wrong, right = 0, 0
    for seed, parents in enumerate([seeds_of(images).as_candidates(), *generations(mutator, images, 6)]):
        hopeless, good = tried(mutator, parents, 40, seed)
        wrong, right = wrong + int((hopeless & good).sum()), right + int(good.sum())
    assert wrong < 0.015 * right


def test_most_tries_that_are_made_succeed() -> None:
    mutator, images = Metamorphic(0, 1), SCREENED["digits"]
    for parents in generations(mutator, images, 4):
        hopeless, good = tried(mutator, parents, 40, 0)
        assert float(good[~hopeless].float().mean()) > 0.8


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_shares_outside_their_range_are_refused(share: float) -> None:
    for name in ("alpha", "beta"):
        with pytest.raises(UsageError, match=f"--{name} {share}"):
            Metamorphic(0, 1, **{name: share})


def test_no_tries_and_no_transformations_are_refused() -> None:
    with pytest.raises(UsageError, match="--tries 0"):
        Metamorphic(0, 1, tries=0)
    with pytest.raises(UsageError, match="no transformation to try"):
        Metamorphic(0, 1, transforms={})


def photo(count: int = 6, side: int = 64) -> Tensor:
    """As photos are: much light and shade over wide areas, and sharp edges."""
    rng = randomness(5, 0)
    coarse = torch.nn.functional.interpolate(torch.rand(count, 3, 5, 5, generator=rng), (side, side), mode="bicubic")
    edges = (torch.nn.functional.interpolate(torch.rand(count, 1, 9, 9, generator=rng), (side, side)) > 0.8).float()
    return (0.7 * coarse + 0.3 * edges).clamp(0, 1)


CHEQUERED = (torch.arange(8)[:, None] + torch.arange(8)).remainder(2).float().expand(600, 1, 8, 8)
KINDS_OF_IMAGES = {"digits": mnist_sample()[0][:100], "photos": photo()}


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("images", KINDS_OF_IMAGES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_each_transformation_succeeds_on_digits_and_on_photos(name: str, images: str, ranges: str) -> None:
    seeds = KINDS_OF_IMAGES[images]
    mutator = Metamorphic(0, 1, tries=1, transforms={name: RANGES[ranges](seeds.shape[1:])[name]})
    (children,) = generations(mutator, seeds, 1)
    changed = (children.inputs - seeds).abs().flatten(1).amax(1) > VISIBLE
    assert float(changed.float().mean()) > 0.9 and set(kinds_of(children)) <= {name, "unchanged"}


def test_a_whole_kernel_is_taken_where_it_succeeds_and_less_of_it_elsewhere() -> None:
    transforms = {"blur": TRANSFORMS["blur"]}
    soft, digits = (
        [
            float(text.split()[1])
            for text in texts_of(next(generations(Metamorphic(0, 1, transforms=transforms), some, 1)))
        ]
        for some in (smooth(100, 1, 60), KINDS_OF_IMAGES["digits"])
    )
    assert set(soft) == {1, 2, 3, 4, 5, 6}
    assert all(one % 1 for one in digits) and {int(one) for one in digits} == {1, 2, 3, 4, 5, 6}


def test_tries_and_successes_are_counted_by_transformation() -> None:
    mutator = Metamorphic(0, 1, transforms=only("blur", "noise", "rotation"))
    list(generations(mutator, KINDS_OF_IMAGES["digits"], 3))
    tries = mutator.tries()
    assert list(tries) == ["blur", "noise", "rotation"]
    assert all(one.made >= one.succeeded > 0 and not one.in_vain for one in tries.values())


@pytest.mark.parametrize(
    ("images", "beta", "name", "why"),
    [
        (torch.zeros(600, 1, 8, 8), 0.2, "blur", "0 of 1,200 tries changed anything: it has no effect"),
        (torch.zeros(600, 1, 8, 8), 0.2, "contrast", "no effect on these images"),
        (torch.zeros(600, 1, 8, 8), 0.2, "rotation", "no effect on these images"),
        (
            CHEQUERED,
            1e-5,
            "blur",
            r"tries satisfied Equation 1 \(alpha 0.02, beta 1e-05\): it changes too many",
        ),
        (CHEQUERED, 1e-5, "contrast", "so raise --beta or leave it out of --transforms"),
    ],
)
def test_a_transformation_that_is_tried_in_vain_is_told_of_with_why(
    images: Tensor, beta: float, name: str, why: str
) -> None:
    mutator = Metamorphic(0, 1, beta=beta, tries=3, transforms=only(name))
    for children in generations(mutator, images, 2):
        assert set(kinds_of(children)) == {"unchanged"}
    assert mutator.tries()[name].in_vain and re.search(why, str(mutator.tries()[name]))

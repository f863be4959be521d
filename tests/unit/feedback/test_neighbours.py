"""How far is the nearest of many stored points?"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from jostle.feedback.neighbours import LEAST_EFFORT, Neighbours
from jostle.randomness import randomness


def points(count: int, dimensions: int = 8, seed: int = 0) -> Tensor:
    return torch.randn(count, dimensions, generator=randomness(seed, dimensions))


def by_brute_force(queries: Tensor, stored: Tensor) -> Tensor:
    return (
        torch.cdist(queries.double(), stored.double(), compute_mode="donot_use_mm_for_euclid_dist")
        .min(1)
        .values.float()
    )


def stored_in_parts(stored: Tensor, exact: int, part: int = 37) -> Neighbours:
    neighbours = Neighbours(exact=exact)
    for some in stored.split(part):
        neighbours.add(some)
    return neighbours


def test_nothing_is_near_when_nothing_is_stored() -> None:
    assert Neighbours().distances(points(3)).tolist() == [torch.inf] * 3


@pytest.mark.parametrize("dimensions", [1, 2, 10, 300])
def test_while_few_the_distance_is_that_of_brute_force(dimensions: int) -> None:
    stored, queries = points(500, dimensions), points(100, dimensions, seed=1)
    neighbours = stored_in_parts(stored, exact=4096)
    assert len(neighbours) == 500
    torch.testing.assert_close(neighbours.distances(queries), by_brute_force(queries, stored), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("outlier", [0.0, 1e5, 1e15])
def test_a_stored_point_is_found_again_however_far_out_it_lies(offset: float, outlier: float) -> None:
    stored = points(400) + offset * points(400, 1, seed=2).sign()
    stored[7] += outlier
    neighbours = stored_in_parts(stored, exact=4096)
    assert not neighbours.distances(stored).any()


def test_a_point_moved_by_half_the_distance_that_is_enough_is_near() -> None:
    stored = points(1000, 10) + 3000
    moved = stored + 0.05 / 10**0.5
    assert (stored_in_parts(stored, exact=4096).distances(moved, enough=0.1) <= 0.1).all()


@pytest.fixture(scope="module")
def many() -> tuple[Tensor, Neighbours]:
    stored = points(5000)
    return stored, stored_in_parts(stored, exact=512)


def test_beyond_the_exact_part_every_point_is_still_counted(many: tuple[Tensor, Neighbours]) -> None:
    stored, neighbours = many
    assert len(neighbours) == len(stored)


def test_an_approximate_distance_is_never_too_small_and_seldom_too_large(many: tuple[Tensor, Neighbours]) -> None:
    stored, neighbours = many
    queries = points(1000, seed=1)
    truth, found = by_brute_force(queries, stored), neighbours.distances(queries)
    assert (found >= truth * (1 - 1e-4)).all()
    assert (found <= truth * (1 + 1e-4)).float().mean() > 0.95


def test_old_and_new_points_are_both_found_again(many: tuple[Tensor, Neighbours]) -> None:
    stored, neighbours = many
    found = neighbours.distances(stored) < 1e-3
    assert found[-256:].all()
    assert found.float().mean() > 0.99


def test_where_one_is_near_enough_the_answer_says_so_and_elsewhere_it_is_the_nearest(
    many: tuple[Tensor, Neighbours],
) -> None:
    _, neighbours = many
    queries, enough = points(500, seed=1), 1.2
    fully, briefly = neighbours.distances(queries), neighbours.distances(queries, enough)
    assert torch.equal(briefly <= enough, fully <= enough)
    assert torch.equal(briefly[fully > enough], fully[fully > enough])
    assert (briefly >= fully).all() and (briefly > fully).any()


def test_two_builds_of_the_same_points_answer_alike(many: tuple[Tensor, Neighbours]) -> None:
    stored, neighbours = many
    again = stored_in_parts(stored, exact=512)
    queries = points(500, seed=1)
    assert torch.equal(again.distances(queries), neighbours.distances(queries))


def test_more_points_at_once_than_are_searched_exactly_are_taken(many: tuple[Tensor, Neighbours]) -> None:
    stored, _ = many
    neighbours = Neighbours(exact=64)
    neighbours.add(stored[:1000])
    assert len(neighbours) == 1000
    assert (neighbours.distances(stored[:1000]) < 1e-3).float().mean() > 0.99


def clustered(count: int, dimensions: int, seed: int = 0) -> Tensor:
    """As activations lie: around some centres."""
    centres = 5 * points(40, dimensions, seed=9)
    return centres[torch.randint(40, (count,), generator=randomness(seed, 1))] + points(count, dimensions, seed)


@pytest.mark.parametrize("make", [clustered, points])
@pytest.mark.parametrize(("dimensions", "count"), [(10, 6_000), (84, 6_000), (1024, 2_000)])
def test_nearly_all_distances_are_right_in_few_and_many_dimensions(
    dimensions: int, count: int, make: Callable[..., Tensor]
) -> None:
    stored, queries = make(count, dimensions), make(300, dimensions, seed=1)
    found = stored_in_parts(stored, exact=512, part=256).distances(queries)
    right = found <= by_brute_force(queries, stored) * 1.001
    assert float(right.float().mean()) >= 0.95


def test_a_graph_is_searched_where_that_is_right_and_every_point_where_it_is_not() -> None:
    graph, every = (stored_in_parts(make(6_000, 84), exact=512, part=256) for make in (clustered, points))
    assert graph._effort == LEAST_EFFORT and every._effort is None

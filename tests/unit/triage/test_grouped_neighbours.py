"""Regions of points hang together, and are apart from others."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.triage.neighbours import AT_ONCE, regions


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_chain_of_neighbours_is_one_region_however_long(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = np.zeros((3 * AT_ONCE, 4), np.float32)
    chain[:, 0] = np.arange(len(chain))
    order = rng.permutation(len(chain))
    assert set(regions(chain[order], near=1.5, far=1.5).tolist()) == {0}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regions_are_told_apart_and_numbered_by_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat([0, 1, 2], [500, 300, 40]))
    points = rng.random((len(truth), 8)) + 50 * truth[:, None]
    assert regions(points.astype(np.float32), near=3, far=6).tolist() == truth.tolist()


def test_few_points_of_one_region_are_not_torn_apart() -> None:
    rng = np.random.default_rng(0)
    few = rng.normal(size=(5, 8)).astype(np.float32)
    few *= 4 / np.linalg.norm(few[0] - few[1])
    assert set(regions(few, near=1, far=20).tolist()) == {0}


def test_one_point_is_a_region() -> None:
    assert regions(np.zeros((1, 3), np.float32), near=1, far=2).tolist() == [0]

"""How processors are shared among workers."""

from __future__ import annotations

import pytest

from jostle.scale.ray_cluster import processors_each


@pytest.mark.parametrize(
    ("machines", "workers", "share"),
    [
        ([2], 1, 1),
        ([2], 2, 1),
        ([2], 4, 0.5),
        ([1, 1], 2, 1),
        ([1, 1], 3, 0.5),
        ([2, 2], 5, 2 / 3),
        ([16] * 4, 65, 16 / 17),
        ([0.5], 1, 0.5),
        ([0, 4], 3, 1),
    ],
)
def test_each_worker_has_a_place_on_one_machine(machines: list[float], workers: int, share: float) -> None:
    found = processors_each(machines, workers)
    assert found == pytest.approx(share, abs=1e-4)
    assert sum(int(processors / found) for processors in machines) >= workers


def test_machines_without_processors_have_no_places() -> None:
    assert processors_each([], 2) == processors_each([0.0], 2) == 0

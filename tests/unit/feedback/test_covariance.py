"""Layer-wise covariance against numpy's covariance of the rows that counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback import covariance
from jostle.feedback.covariance import LayerCovariance
from jostle.randomness import randomness
from making import assessed, trace_of


def slow(rows: Tensor, sizes: list[int]) -> tuple[list[float], float]:
    """Gains of all rows and the spread in the end, as a loop that computes every covariance anew."""
    counted: list[list[np.ndarray]] = [[] for _ in sizes]  # type: ignore[type-arg]
    gains: list[float] = []
    for row in rows.double():
        gain = 0.0
        for points, part in zip(counted, row.split(sizes), strict=True):
            before = spread(points)
            after = spread([*points, part.numpy()])
            if not points or after > before * (1 + 1e-6):
                gain += after - before
                points.append(part.numpy())
        gains.append(gain if gains else 1.0)
    return gains, sum(map(spread, counted))


def spread(points: list[np.ndarray]) -> float:  # type: ignore[type-arg]
    if len(points) < 2:
        return 0.0
    return float(np.abs(np.cov(np.stack(points).T, bias=True)).mean())


def seen_in(rows: Tensor) -> object:
    return trace_of(rows, activations={"early": rows[:, :3], "late": rows[:, 3:]})


@pytest.mark.parametrize("seed", range(4))
def test_rows_count_where_they_raise_the_spread_as_a_loop_finds(seed: int) -> None:
    rows = torch.randn(60, 5, generator=randomness(seed, 0)) * torch.tensor([1.0, 5, 0.1, 2, 3])
    feedback = LayerCovariance()
    gains = torch.cat([assessed(feedback, seen_in(part)) for part in rows.split(17)])
    expected, whole = slow(rows, [3, 2])
    np.testing.assert_allclose(gains, expected, rtol=1e-4, atol=1e-6)
    assert feedback.coverage()["nlc"]["spread"] == pytest.approx(whole)
    assert feedback.coverage()["nlc"]["rows"] == sum(gain > 0 for gain in expected)


def test_neurons_that_move_together_spread_more_than_those_that_do_not() -> None:
    rng = randomness(0, 1)
    apart = torch.randn(400, 4, generator=rng)
    together = torch.randn(400, 1, generator=rng).expand(400, 4).contiguous()
    figures = []
    for rows in (apart, together):
        feedback = LayerCovariance()
        assessed(feedback, trace_of(rows, activations={"it": rows}))
        figures.append(feedback.coverage()["nlc"]["spread"])
    assert figures[1] > 2 * figures[0]


def test_too_many_covariances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covariance, "MOST_ENTRIES", 10)
    with pytest.raises(UsageError, match=r"nlc would keep 13 covariances.*fewer --layers"):
        assessed(LayerCovariance(), seen_in(torch.zeros(1, 5)))

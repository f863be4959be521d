"""A change that should not matter may not turn an embedding away."""

from __future__ import annotations

import pytest
import torch

from jostle.oracles.embedding import EmbeddingKept, cosine_distances
from jostle.records import NO_BUG
from making import answered, batch_of, trace_of

SAID = torch.tensor([[1.0, 0.0]]).repeat(5, 1)


def test_only_an_embedding_that_points_elsewhere_is_a_defect_however_long_it_is() -> None:
    output = torch.tensor([[100.0, 1.0], [0.8, 0.6], [0.5, 1.0], [-1.0, 0.0], [torch.nan, 0.0]])
    verdicts = EmbeddingKept(0.25).judge(answered(batch_of(torch.zeros(5, 2)), SAID), trace_of(output))
    assert (verdicts.bugs != NO_BUG).tolist() == [False, False, True, True, False]
    assert verdicts.describe(3).fingerprint == "embedding:3"
    assert verdicts.describe(3).details["cosine distance"] == 2


@pytest.mark.parametrize(
    ("some", "other", "distance"),
    [
        ([3.0, 4.0], [6.0, 8.0], 0.0),
        ([1.0, 0.0], [0.0, 1.0], 1.0),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([0.0, 0.0], [1.0, 0.0], 1.0),
        ([3e38, 3e38], [3e38, 3e38], 0.0),
        ([1e-38, 0.0], [1e38, 0.0], 0.0),
    ],
)
def test_the_cosine_distance_of_two_embeddings(some: list[float], other: list[float], distance: float) -> None:
    assert float(cosine_distances(torch.tensor([some]), torch.tensor([other]))) == pytest.approx(distance, abs=1e-6)

"""Class scores as probabilities."""

from __future__ import annotations

from torch import Tensor

SLACK = 1e-3


def are_probabilities(scores: Tensor) -> Tensor:
    """[batch] bool: rows that are not negative and add up to one, as softmax leaves them."""
    return (scores >= 0).all(1) & ((scores.sum(1) - 1).abs() < SLACK)


def probabilities(scores: Tensor) -> Tensor:
    """Scores [batch, classes] as probabilities, unless they are already."""
    return scores.where(are_probabilities(scores)[:, None], scores.softmax(1))

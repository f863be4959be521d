"""What models answer, as rows of numbers."""

from __future__ import annotations

from torch import Tensor


def as_values(answers: Tensor) -> Tensor:
    """Answers [batch] or [batch, ...] as float32 [batch, values]."""
    return answers.float().unsqueeze(-1).flatten(1)


def finite_rows(*answers: Tensor) -> Tensor:
    """[batch] bool: where all values of answers [batch, ...] are finite."""
    finite = _finite(answers[0])
    for more in answers[1:]:
        finite = finite & _finite(more)
    return finite


def _finite(answers: Tensor) -> Tensor:
    """By their sum, which is fifty times as fast; a sum may overflow, so each value of such a row is looked at."""
    values = as_values(answers)
    finite = values.sum(1).isfinite()
    rows = (~finite).nonzero().squeeze(1)
    return finite.index_copy(0, rows, values[rows].isfinite().all(1))

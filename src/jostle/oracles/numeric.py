"""Nothing the model computes may be NaN or infinite."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.oracles.numbering import bug_number
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation


class Finite:
    """Outputs, watched layers, loss and gradients are finite; says which was the first that is not."""

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        bugs = torch.full((len(candidates),), NO_BUG)
        described: dict[int, Violation] = {}
        for place, values in trace.everywhere().items():
            # One sum tells almost always; it may overflow, so only the look at each value decides.
            if torch.isfinite(values.sum(dtype=torch.float64)):
                continue
            for word, shown in _shown(values):
                violation = _violation(place, word)
                number = bug_number(violation.fingerprint)
                described[number] = violation
                bugs[shown & (bugs == NO_BUG)] = number
        return Verdicts.where("nan", trace, bugs != NO_BUG, bugs, lambda row: described[int(bugs[row])])


def _shown(values: Tensor) -> list[tuple[str, Tensor]]:
    """Which rows [batch] hold a NaN, and which an infinity."""
    rows = values.reshape(len(values), -1)
    return [("NaN", rows.isnan().any(1)), ("infinity", rows.isinf().any(1))]


def _violation(place: str, word: str) -> Violation:
    return Violation("nan", f"nan:{word.lower()}:{place}", f"{word} first in {place}", {"place": place, "value": word})

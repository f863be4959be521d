"""Nothing the model computes may be NaN or infinite."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.digests import bug_number
from jostle.part import Part, first_line
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation


class Finite:
    """Outputs, watched layers, loss and gradients are finite; says which was the first that is not."""

    looks_inside = True
    compares_with_truth = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        bugs = torch.full((len(candidates),), NO_BUG)
        described: dict[int, Violation] = {}
        for place, values in _suspicious(trace.everywhere()):
            for word, rows in _not_finite(values):
                violation = _violation(place, word)
                number = bug_number(violation.fingerprint)
                described[number] = violation
                bugs[rows & (bugs == NO_BUG)] = number
        number = bug_number(GRADIENT.fingerprint)
        described[number] = GRADIENT
        bugs[candidates.mutations.without_gradient & (bugs == NO_BUG)] = number
        return Verdicts.where("nan", trace, bugs != NO_BUG, bugs, lambda row: described[int(bugs[row])])


GRADIENT = Violation(
    "nan", "nan:gradient", "NaN or infinity in the gradient of the scores by the input", {"place": "gradient"}
)


def _suspicious(places: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """The places where a sum is not finite: almost always none. A sum may overflow, so each value is looked at then."""
    finite = torch.stack([values.sum().float() for _, values in places]).isfinite()
    return [] if finite.all() else [place for place, fine in zip(places, finite, strict=True) if not fine]


def _not_finite(values: Tensor) -> list[tuple[str, Tensor]]:
    """Which rows [batch] hold a NaN, and which an infinity."""
    rows = values.reshape(len(values), -1)
    return [("NaN", rows.isnan().any(1)), ("infinity", rows.isinf().any(1))]


def _violation(place: str, word: str) -> Violation:
    return Violation("nan", f"nan:{word.lower()}:{place}", f"{word} first in {place}", {"place": place, "value": word})


NAN = Part(first_line(Finite), lambda settings, _: Finite())

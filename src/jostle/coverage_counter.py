"""Coverage as papers count it: of all inputs that ran, or of failing tests alone, where the corpus guides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from jostle.interfaces import Feedback
from jostle.records import Candidates, Failures, Trace, all_rows
from jostle.step_records import COUNTED_FAILING


class CoverageCounter:
    """Counts what other inputs cover than those that guide, by criteria of its own that guide nothing."""

    def __init__(self, counted: str, feedbacks: Sequence[Feedback]):
        """`counted` is one of COUNTED_INPUTS: which inputs count."""
        self.counted = counted
        self._feedbacks = feedbacks

    def count(self, candidates: Candidates, trace: Trace, failing: Failures) -> None:
        """Takes in a batch that has just run, and those of its inputs that fail."""
        if not trace.ran.any():  # so that no layer was seen
            return
        rows = self._counting(trace, failing)
        if len(rows) < len(candidates):
            candidates, trace = candidates.select(rows), trace.select(rows)
        for feedback in self._feedbacks:
            feedback.assess(candidates, trace)

    def _counting(self, trace: Trace, failing: Failures) -> Tensor:
        """The rows that count; one that crashed covers nothing that anybody saw."""
        rows = failing.rows if self.counted == COUNTED_FAILING else all_rows(len(trace.outcome))
        return rows[trace.ran[rows]]

    def coverage(self) -> dict[str, Mapping[str, float]]:
        """Figures so far, by criterion."""
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

"""What enters the corpus: rows that violate nothing and show something new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from jostle.interfaces import Feedback, Learner
from jostle.lineage import Mutation
from jostle.records import Candidates, Lesson, Trace, all_rows
from jostle.storage.corpus import Corpus

NO_TRACE = Trace(torch.empty(0, dtype=torch.int64), {})


class Admission:
    """Assesses rows by every feedback, adds what is new to the corpus, and lets the parts that learn know."""

    def __init__(self, corpus: Corpus, feedbacks: Sequence[Feedback], learners: Sequence[Learner]):
        self.corpus = corpus
        self._feedbacks, self._learners = feedbacks, learners

    def admit(
        self,
        candidates: Candidates,
        trace: Trace,
        violating: Tensor,  # [batch] bool
        found_by: tuple[Mutation, ...],
        *,
        every: bool = False,
    ) -> Candidates:
        """Adds of the rows that violate nothing those that are new, or every one, and gives them back."""
        sound = (trace.ran & ~violating & candidates.changed).nonzero().squeeze(1)
        whole = len(sound) == len(candidates)
        gains = self.gains(candidates, trace) if whole else self.gains(candidates.select(sound), trace.select(sound))
        new = all_rows(len(sound)) if every else (gains > 0).any(1).nonzero().squeeze(1)
        sound, gains = sound[new], gains[new]
        kept = candidates.select(sound)
        self.add(Lesson(kept, gains, trace.select(sound) if self._learners else NO_TRACE, found_by))
        return kept

    def gains(self, candidates: Candidates, trace: Trace) -> Tensor:
        """How new each row is to each criterion [batch, criteria], which then know it."""
        rows = len(trace.outcome)
        if not rows or not self._feedbacks:
            return torch.zeros(rows, len(self._feedbacks))
        return torch.stack([feedback.assess(candidates, trace) for feedback in self._feedbacks], 1)

    def add(self, lesson: Lesson) -> None:
        """Adds what a step kept, and has all that learn learn from it."""
        self.corpus.add(lesson.kept)
        for learner in self._learners:
            learner.learn(lesson)

    def coverage(self) -> dict[str, Mapping[str, float]]:
        """Figures so far, by criterion."""
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

"""What enters the corpus: rows that violate nothing, or may be parents all the same, and show something new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from jostle.interfaces import Feedback, Learner
from jostle.lineage import Mutation
from jostle.records import NO_PARENT, NO_TRACE, Candidates, Lesson, Trace, all_rows
from jostle.storage.corpus import Corpus


class Admission:
    """Assesses rows by every feedback, adds what is new to the corpus, and lets the parts that learn know."""

    def __init__(
        self,
        corpus: Corpus,
        feedbacks: Sequence[Feedback],
        learners: Sequence[Learner],
        keeps_traces: bool = False,
    ):
        """Lessons have the traces of what was kept if somebody learns from them, or they are to be kept."""
        self.corpus = corpus
        self._feedbacks, self._learners = feedbacks, learners
        self._keeps_traces = keeps_traces or bool(learners)

    def admit(
        self,
        candidates: Candidates,
        trace: Trace,
        barred: Tensor,  # [batch] bool
        found_by: tuple[Mutation, ...],
        *,
        every: bool = False,
        room: bool = True,
    ) -> Lesson:
        """Adds of the rows that are not barred those that are new, or every one.

        Without room it looks at none, of which nobody learns but what was found.
        """
        sound = (trace.ran & ~barred & candidates.changed & room).nonzero().squeeze(1)
        whole = len(sound) == len(candidates)
        gains = self.gains(candidates, trace) if whole else self.gains(candidates.select(sound), trace.select(sound))
        new = all_rows(len(sound)) if every else (gains > 0).any(1).nonzero().squeeze(1)
        sound, gains = sound[new], gains[new]
        kept_trace = trace.select(sound) if self._keeps_traces else NO_TRACE
        lesson = Lesson(candidates.select(sound), gains, kept_trace, found_by)
        if room or found_by:
            self.add(lesson)
        return lesson

    def gains(self, candidates: Candidates, trace: Trace) -> Tensor:
        """How new each row is to each criterion [batch, criteria], which then know it."""
        rows = len(trace.outcome)
        if not rows or not self._feedbacks:
            return torch.zeros(rows, len(self._feedbacks), dtype=torch.float32)
        return torch.stack([feedback.assess(candidates, trace) for feedback in self._feedbacks], 1)

    def count_new(self, kept: Candidates, trace: Trace) -> Tensor:
        """Counts what others kept, from which nobody here learns; which rows are new to all of them [kept] bool."""
        self.corpus.count(kept)
        unknown = torch.full_like(kept.parents, NO_PARENT)  # ids of what nobody here learnt of
        gains = self.gains(replace(kept, parents=unknown), trace)
        return (gains > 0).any(1) if gains.shape[1] else torch.ones(len(kept), dtype=torch.bool)

    def add(self, lesson: Lesson) -> None:
        """Adds what a step kept, and has all that learn learn from it."""
        self.corpus.add(lesson.kept)
        for learner in self._learners:
            learner.learn(lesson)

    @property
    def looks_at_inputs(self) -> bool:
        """Whether a criterion needs more to know an entry than its root and its trace; a user's own may."""
        return any(getattr(feedback, "looks_at_inputs", True) for feedback in self._feedbacks)

    def coverage(self) -> dict[str, Mapping[str, float]]:
        """Figures so far, by criterion."""
        return {name: figures for feedback in self._feedbacks for name, figures in feedback.coverage().items()}

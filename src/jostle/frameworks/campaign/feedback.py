"""What is new about a model: what no model did before, or more inconsistency than its parent has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from jostle.records import DEFECT_KINDS, DEFECTS, LIBRARY, NO_NUMBER, NO_PARENT, Candidates, Lesson, Trace

# In a trace's metadata:
INCONSISTENCY = "inconsistency"  # [models, pairs of backends] in units of jitter
OPERATORS_USED = "operators"  # [models, operators] bool
STEPS = 4  # of inconsistency from one power of ten to the next
LEAST = 1e-3  # of jitter; what is less is none


def numbers_of(models: Sequence[Iterable[str]]) -> Tensor:
    """What each model shows, by name and in order, as numbers [models, most of one], which NO_NUMBER fills up."""
    numbers = [torch.tensor(list(map(number_of, names)), dtype=torch.int64) for names in models]
    return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True, padding_value=NO_NUMBER)


def number_of(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 1


class LibraryCoverage:
    """Gains where a model makes a part of a library work that never did."""

    looks_at_inputs = False

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        return torch.tensor([self._new(row) for row in trace.metadata[LIBRARY].tolist()], dtype=torch.float32)

    def _new(self, row: list[int]) -> int:
        new = set(row) - self._seen - {NO_NUMBER}
        self._seen |= new
        return len(new)

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        return {LIBRARY: {"parts": len(self._seen)}}


class DefectsOfParents:
    """Gains where a model shows a defect that no model in the corpus was kept for.

    Of the defects of one backend and symptom that a model shows, the first such is the one that it is reported and kept
    for: the next model that shows all of them is reported for the next.
    """

    looks_at_inputs = False

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        rows = zip(trace.metadata[DEFECTS].tolist(), trace.metadata[DEFECT_KINDS].tolist(), strict=True)
        return torch.tensor([self._new(*row) for row in rows], dtype=torch.float32)

    def _new(self, defects: list[int], kinds: list[int]) -> int:
        first: dict[int, int] = {}
        for defect, kind in zip(defects, kinds, strict=True):
            if defect != NO_NUMBER and defect not in self._seen:
                first.setdefault(kind, defect)
        self._seen.update(first.values())
        return len(first)

    def knows(self, name: str) -> bool:
        """Whether a model was kept for the defect of this name."""
        return number_of(name) in self._seen

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        return {DEFECTS: {"shown by parents": len(self._seen)}}


class RaisedInconsistency:
    """Gains where two backends differ by more than on the parent, and than on any other model with the same operator.

    Measured in steps of a logarithm, for each operator of the model and each pair of backends.
    """

    looks_at_inputs = False

    def __init__(self) -> None:
        self._highest: Tensor | None = None  # [operators, pairs] steps reached
        self._entries: list[Tensor] = []  # [pairs] steps of each model in the corpus

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        steps = _steps(trace)
        parents = [self._of_parent(parent, steps[:row]) for row, parent in enumerate(candidates.parents.tolist())]
        rows = zip(steps, parents, trace.metadata[OPERATORS_USED], strict=True)
        return torch.tensor([self._gain(*row) for row in rows], dtype=torch.float32)

    def _of_parent(self, parent: int, before: Tensor) -> Tensor | None:
        """The steps of a parent, which may stand before its child in the same batch when a campaign goes on."""
        if parent == NO_PARENT:
            return None
        if parent < len(self._entries):
            return self._entries[parent]
        row = parent - len(self._entries)
        return before[row] if row < len(before) else None

    def _gain(self, steps: Tensor, parent: Tensor | None, operators: Tensor) -> float:
        if self._highest is None:
            self._highest = torch.zeros(len(operators), len(steps))
        reached = self._highest[operators]
        raised = torch.where(steps > (torch.zeros_like(steps) if parent is None else parent), steps, 0.0)
        self._highest[operators] = torch.maximum(reached, raised)  # of what gains nothing, nothing is remembered
        return float((raised - reached).clamp(min=0).sum())

    def learn(self, lesson: Lesson) -> None:
        if len(lesson.kept):
            self._entries.extend(_steps(lesson.trace))

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        if self._highest is None:
            return {INCONSISTENCY: {"highest": 0.0, "steps": 0}}
        steps = float(self._highest.max()) if self._highest.numel() else 0.0
        highest = LEAST * 10 ** (steps / STEPS) if steps else 0.0
        return {INCONSISTENCY: {"highest": highest, "steps": float(self._highest.sum())}}


def _steps(trace: Trace) -> Tensor:
    """[models, pairs] whole numbers."""
    values = trace.metadata[INCONSISTENCY].double()
    return torch.floor(STEPS * torch.log10(values.nan_to_num(0.0).clamp(min=LEAST) / LEAST)).float()

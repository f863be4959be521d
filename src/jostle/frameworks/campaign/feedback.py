"""What is new about a model: parts of libraries that never worked before, or more inconsistency than before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from jostle.records import LIBRARY, NO_NUMBER, Candidates, Trace

INCONSISTENCY = "inconsistency"  # in a trace's metadata
STEPS = 4  # of inconsistency from one power of ten to the next
LEAST = 1e-9  # inconsistency that is none


def encoded_parts(models: Sequence[Iterable[str]]) -> Tensor:
    """The names of the parts that each model makes work as numbers [models, most parts], which NO_NUMBER fills up."""
    numbers = [torch.tensor(sorted(map(_number, parts)), dtype=torch.int64) for parts in models]
    return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True, padding_value=NO_NUMBER)


def _number(part: str) -> int:
    return int.from_bytes(hashlib.sha256(part.encode()).digest()[:8], "big") >> 1


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


class RaisedInconsistency:
    """Gains where two backends differ by more than any model made them differ before."""

    looks_at_inputs = False

    def __init__(self) -> None:
        self._highest: Tensor | None = None  # [pairs of backends] steps reached

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        values = trace.metadata[INCONSISTENCY].double()  # [batch, pairs]
        steps = torch.floor(STEPS * torch.log10(values.nan_to_num(0.0).clamp(min=LEAST) / LEAST))
        gains = []
        for row in steps:
            highest = torch.zeros_like(row) if self._highest is None else self._highest
            gains.append(float((row - highest).clamp(min=0).sum()))
            self._highest = torch.maximum(row, highest)
        return torch.tensor(gains, dtype=torch.float32)

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        highest = 0.0 if self._highest is None or not len(self._highest) else float(self._highest.max())
        return {INCONSISTENCY: {"highest": LEAST * 10 ** (highest / STEPS) if highest else 0.0}}

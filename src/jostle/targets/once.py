"""Running only what no gradient was computed at: the forward pass behind a gradient is a trace too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.foreign import attempt
from jostle.interfaces import Differentiable, InterruptibleTarget
from jostle.records import NO_LABEL, Candidates, Linearised, Seeds, Trace, all_rows

ROUNDING = 1e-3  # of the largest value: what a pass may give other than a run, as rows of other batches may
UNKNOWN = -1  # the position of a row among others, where it is not one of them
WORD = 8  # bytes
SCATTERING = 0x1E3779B97F4A7C15  # odd, and without a pattern in its bits: multiples of it lie far apart


class RunsOnce:
    """A target that does not run again what was differentiated since its last run: that pass gives the trace.

    Passes count as traces only if the first of them told all that a run tells. Rows are known by their bytes.
    """

    def __init__(self, target: InterruptibleTarget, gradients: Differentiable):
        self._target, self._gradients = target, gradients
        self._passed: list[tuple[Tensor, Trace]] = []  # inputs [rows, ...] since the last run, each with its trace
        self._tells_all: bool | None = None  # not known before the first pass

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        self._target.ask_between_rows(enough)

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        passed = self._gradients.linearise(inputs, extremes)
        if passed.trace is not None and self._stands_for_run(inputs, passed.trace):
            self._passed.append((inputs, passed.trace))
        return passed

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        if not watched or not self._passed:
            return self._target.run(batch, watched)
        inputs, traces = (list(some) for some in zip(*self._passed, strict=True))
        where = positions(batch.inputs, torch.cat(inputs))
        rest = (where == UNKNOWN).nonzero().squeeze(1)
        if len(rest):
            where[rest] = sum(map(len, inputs)) + all_rows(len(rest))
            traces.append(self._target.run(batch.select(rest)))
        self._passed.clear()  # who runs the same once more wants to know whether it does the same
        return Trace.joined(traces).select(where)

    def _stands_for_run(self, inputs: Tensor, passed: Trace) -> bool:
        """Whether passes tell all that runs do, which the first row ever differentiated shows."""
        if self._tells_all is None:
            one = Seeds(inputs[:1], torch.tensor([NO_LABEL]), ("",)).as_candidates()
            ran = attempt(lambda: self._target.run(one))
            self._tells_all = isinstance(ran, Trace) and _alike(ran, passed.select(all_rows(1)))
        return self._tells_all


def positions(rows: Tensor, among: Tensor) -> Tensor:
    """Where each of the rows [rows, ...] stands among others [others, ...], bit for bit [rows]; UNKNOWN if nowhere."""
    own, others = _words(rows), _words(among)
    keys, order = _keys(others).sort()
    found = order[torch.searchsorted(keys, _keys(own)).clamp(max=len(order) - 1)]
    same = (own == others.index_select(0, found)).all(1)  # of two that share a key, one may be missed
    return torch.where(same, found, UNKNOWN)


def _words(rows: Tensor) -> Tensor:
    """The bytes of each row as whole numbers [rows, words]."""
    by_bytes = rows.reshape(len(rows), -1).view(torch.uint8)
    missing = by_bytes.new_zeros(len(rows), -by_bytes.shape[1] % WORD)
    return torch.cat([by_bytes, missing], 1).view(torch.int64)


def _keys(words: Tensor) -> Tensor:
    """A number for each row of words [rows], the same for the same row and hardly ever for another."""
    return (words * ((torch.arange(words.shape[1]) + 1) * SCATTERING)).sum(1)


def _alike(ran: Trace, passed: Trace) -> bool:
    """Whether two traces of the same row tell the same, but for rounding."""
    names = ("outputs", "others", "activations", "extremes", "metadata")
    return all(_same(getattr(ran, name), getattr(passed, name)) for name in names)


def _same(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(_close(value, theirs[name]) for name, value in ours.items())


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    largest = float(one.double().abs().nan_to_num(0, 0).max()) if one.numel() else 0.0
    return torch.allclose(one.double(), other.double(), rtol=0, atol=ROUNDING * largest, equal_nan=True)

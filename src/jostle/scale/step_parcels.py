"""Steps, and what others should know of them, as plain values and arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from jostle.isolation.messages import grouped, trace_arrays, trace_of, ungrouped
from jostle.lineage import Mutation, Untouched
from jostle.mutations import Mutations
from jostle.records import NO_PARENT, NO_TRACE, Bug, Candidates, Failures, Finding, Seeds, Trace, Violation, all_rows
from jostle.scale.parcel import Parcel
from jostle.scale.requests import RoundFigures
from jostle.step_records import DoneStep, OwnStep
from jostle.storage.entries import entries_of, entry_arrays
from jostle.storage.files import portable

KEPT, TRACE, FOUND, FAILING_INPUTS, FAILING = GROUPS = ("kept", "trace", "found", "failing inputs", "failing")
NEWS = "news"
FILES = "files"
TOLD = Mutation(("told",))  # of what another worker made; nobody asks how
OF_FAILING = ("rows", "input_of", "bugs", "answers", "confirmed")

Files = Mapping[str, Tensor]  # by path within a campaign's folder, [bytes]


@dataclass(frozen=True)
class DoneRound:
    """What a worker answers when it was asked for a round."""

    steps: Sequence[DoneStep]
    files: Files = field(default_factory=dict)  # that the campaign needs of what the steps kept or found
    figures: RoundFigures = field(default_factory=RoundFigures)


@dataclass(frozen=True)
class News:
    """What workers kept that is new to all, and the bugs that they have found."""

    workers: Tensor  # [kept] who kept it
    kept: Candidates
    trace: Trace  # of the rows kept
    bugs: Collection[Bug] = ()
    flaky: Collection[Bug] = ()
    inputs_told: bool = True  # else only the roots of what was kept are

    @staticmethod
    def joined(parts: Sequence[News]) -> News:
        """The same as one."""
        filled = [part for part in parts if len(part.kept)]  # a trace of no rows does not tell the types of the others
        return News(
            torch.cat([part.workers for part in filled or parts]),
            Candidates.joined([part.kept for part in filled or parts]),
            Trace.joined([part.trace for part in filled or parts]),
            {bug for part in parts for bug in part.bugs},
            {bug for part in parts for bug in part.flaky},
            parts[0].inputs_told,
        )

    def of_others(self, worker: int) -> News:
        """Without what this worker kept itself."""
        rows = (self.workers != worker).nonzero().squeeze(1)
        if len(rows) == len(self.workers):
            return self
        return replace(self, workers=self.workers[rows], kept=self.kept.select(rows), trace=self.trace.select(rows))


def only_roots(seeds: Seeds, roots: Tensor) -> Candidates:
    """Entries of which nothing is known but the seeds that they descend from; their inputs have no values."""
    rows = len(roots)
    nothing, nobody = seeds.inputs.new_empty(rows, 0), torch.full((rows,), NO_PARENT)
    return Candidates(nothing, seeds, nobody, roots, Mutations.all_of(TOLD, rows), Untouched(rows))


@dataclass(frozen=True)
class StepParcels:
    """Encodes and decodes what a campaign from these seeds and its workers tell each other."""

    seeds: Seeds

    @property
    def input_bytes(self) -> int:
        """Of one input."""
        return self.seeds.inputs[:1].nbytes

    def of_round(self, done: DoneRound) -> Parcel:
        parcels = [self._of_step(one) for one in done.steps]
        arrays = grouped({**{str(place): parcel.arrays for place, parcel in enumerate(parcels)}, FILES: done.files})
        return Parcel({"figures": asdict(done.figures), "steps": [dict(parcel.fields) for parcel in parcels]}, arrays)

    def round_in(self, parcel: Parcel) -> DoneRound:
        told = parcel.fields["steps"]
        arrays = ungrouped(parcel.arrays, (*(str(place) for place in range(len(told))), FILES))
        steps = [self._step(fields, arrays[str(place)]) for place, fields in enumerate(told)]
        return DoneRound(steps, arrays[FILES], RoundFigures.of(parcel.fields["figures"]))

    def of_news(self, news: News) -> Parcel:
        fields = {
            "bugs": sorted(news.bugs),
            "flaky": sorted(news.flaky),
            KEPT: news.kept.mutations.texts if news.inputs_told else None,
        }
        arrays = {NEWS: {"workers": news.workers, "roots": news.kept.roots}}
        if len(news.kept):
            arrays |= {TRACE: trace_arrays(news.trace), KEPT: entry_arrays(news.kept) if news.inputs_told else {}}
        return Parcel(fields, grouped(arrays))

    def news_in(self, parcel: Parcel) -> News:
        arrays, fields = ungrouped(parcel.arrays, (NEWS, KEPT, TRACE)), parcel.fields
        told, texts = arrays[NEWS], fields[KEPT]
        kept = only_roots(self.seeds, told["roots"]) if texts is None else self._entries(arrays[KEPT], texts)
        trace = trace_of(arrays[TRACE], len(kept), {}) if len(kept) else NO_TRACE
        bugs, flaky = (frozenset((kind, number) for kind, number in fields[name]) for name in ("bugs", "flaky"))
        return News(told["workers"], kept, trace, bugs, flaky, inputs_told=texts is not None)

    @cached_property
    def nothing(self) -> Candidates:
        """No rows."""
        return self.seeds.as_candidates().select(all_rows(0))

    def _of_step(self, done: DoneStep) -> Parcel:
        found, failing = (*done.findings, *done.flaky), done.failing
        rows = Candidates.joined([one.row for one in found]) if found else self.nothing
        batches = {KEPT: done.kept, FOUND: rows, FAILING_INPUTS: failing.inputs}
        groups = {name: entry_arrays(batch) for name, batch in batches.items() if len(batch)}
        if len(done.kept):
            groups[TRACE] = trace_arrays(done.trace)
        if len(failing):
            groups[FAILING] = {name: getattr(failing, name) for name in OF_FAILING}
        fields = {
            "planned": done.planned,
            "ran": done.ran,
            "mutations": {name: batch.mutations.texts for name, batch in batches.items()},
            "found": [_told(one) for one in found],
            "violations": dict(done.violations),
            "unconfirmed": dict(done.unconfirmed),
            "kinds": failing.kinds,
            "seconds": dict(done.seconds),
            "by": None if done.by is None else [done.by.worker, done.by.step],
        }
        return Parcel(fields, grouped(groups))

    def _step(self, fields: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> DoneStep:
        groups, mutations = ungrouped(arrays, GROUPS), fields["mutations"]
        kept, rows, inputs = (self._entries(groups[name], mutations[name]) for name in (KEPT, FOUND, FAILING_INPUTS))
        found = [_finding(told, rows.select(torch.tensor([row]))) for row, told in enumerate(fields["found"])]
        return DoneStep(
            planned=int(fields["planned"]),
            ran=int(fields["ran"]),
            kept=kept,
            trace=trace_of(groups[TRACE], len(kept), {}) if len(kept) else NO_TRACE,
            findings=tuple(one for one in found if one.alone),
            flaky=tuple(one for one in found if not one.alone),
            violations=fields["violations"],
            unconfirmed=fields["unconfirmed"],
            failing=_failures(inputs, fields["kinds"], groups[FAILING]),
            seconds=fields["seconds"],
            by=None if fields["by"] is None else OwnStep(*fields["by"]),
        )

    def _entries(self, arrays: Mapping[str, Tensor], mutations: Sequence[str]) -> Candidates:
        return entries_of(arrays, mutations, self.seeds, "a worker's step") if mutations else self.nothing


def _told(finding: Finding) -> dict[str, Any]:
    violation = finding.violation
    return {
        "kind": violation.kind,
        "fingerprint": violation.fingerprint,
        "summary": violation.summary,
        "details": portable(dict(violation.details)),
        "bug": finding.bug,
        "step": finding.step,
        "execution": finding.execution,
        "alone": finding.alone,
    }


def _finding(told: Mapping[str, Any], row: Candidates) -> Finding:
    violation = Violation(*(told[name] for name in ("kind", "fingerprint", "summary", "details")))
    return Finding(violation, told["bug"], told["step"], told["execution"], row, told["alone"])


def _failures(inputs: Candidates, kinds: Sequence[str], arrays: Mapping[str, Tensor]) -> Failures:
    if not kinds:
        return Failures.none(inputs)
    rows, input_of, bugs, answers, confirmed = (arrays[name] for name in OF_FAILING)
    return Failures(inputs, rows, input_of, tuple(kinds), bugs, answers, confirmed)

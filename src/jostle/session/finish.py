"""When the budget is spent: findings are measured, confirmed, located and minimised, and the model is asked of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from jostle.composition.compose import Prepared
from jostle.domain import Domain
from jostle.errors import JostleError, OutputRefused
from jostle.foreign import CRASH
from jostle.held import shown_name
from jostle.inputs.distances import sizes
from jostle.inputs.geometry import Border
from jostle.inputs.tokens import Tokens, edit_sizes
from jostle.interfaces import ModelTarget, Oracle, Target
from jostle.lineage import Mutation, joined
from jostle.mutations import Mutations
from jostle.mutators.metamorphic import MetamorphicOptions
from jostle.named_objects import names_object
from jostle.options.campaign import FindingOptions, InputOptions
from jostle.options.resources import BatchOptions
from jostle.options.schema import Settings
from jostle.oracles.properties import PROPERTY
from jostle.part import kind_beside
from jostle.progress import Progress, quietly
from jostle.records import NO_PARENT, Candidates, Seeds, Trace
from jostle.scores import probabilities
from jostle.session.confirm import Confirming
from jostle.session.divergence import LocatedDivergence
from jostle.session.locate import departures, not_finite
from jostle.session.seed_layers import SeedLayers
from jostle.session.shrink import Shrinker, Shrunk
from jostle.storage.ancestry import Ancestry
from jostle.storage.files import remove
from jostle.storage.finding_record import (
    Answer,
    ChangeSizes,
    Confirmation,
    Divergence,
    FindingRecord,
    FinishedArray,
    Location,
)
from jostle.storage.findings import (
    FINDINGS,
    HIDDEN,
    MINIMISED,
    MINIMISED_REFERENCE,
    Recorded,
    SavedFinding,
    finish_finding,
    lineage_of,
    read_finding,
    recorded,
    write_files,
)
from jostle.storage.journal import JOURNAL
from jostle.storage.pictures import write_png
from jostle.targets.contained import ContainedLayers
from jostle.triage.deadline import Clock, Deadline, never
from jostle.triage.words import counted

AT_ONCE = 64  # findings at most, because the graph behind a gradient takes memory
Afresh = Callable[[], AbstractContextManager[Target]]  # the model, loaded in a process of its own


@dataclass(frozen=True)
class Worked:
    """How many findings were worked through, and how many of them there was no time to minimise to the end."""

    done: int
    late: int


@dataclass(frozen=True)
class InputFinisher:
    """Finishes the findings of one campaign; those that were finished before are left alone."""

    prepared: Prepared
    oracles: Mapping[str, Oracle]  # by the names that chose them
    folder: Path  # of the campaign
    afresh: Afresh | None = None  # where findings are confirmed; None where they are not
    same_process: bool = False  # models are objects of a script, which are confirmed where they are
    remarks: list[str] = field(default_factory=list)  # what to say when it is over
    stops_searches: bool = False  # who asks to stop does not wait for findings under way: tmin takes them up again
    clock: Clock = time.monotonic

    @property
    def seeds(self) -> Seeds:
        return self.prepared.seeds

    @property
    def domain(self) -> Domain:
        return self.prepared.context().domain

    @property
    def target(self) -> ModelTarget:
        return self.prepared.model.target

    @property
    def settings(self) -> Settings:
        return self.prepared.settings

    @property
    def options(self) -> FindingOptions:
        return self.settings[FindingOptions]

    def outlook(self) -> str:
        """What is about to be done, and how long the searches take at most; "" where nothing is left to do."""
        count = len(self._open())
        return self.outlook_on(count) if count else ""

    def outlook_on(self, count: int) -> str:
        """The same for so many findings; what is not counted grows with their number, and no limit can shorten it."""
        started = self.afresh is not None and not self.same_process
        again = [f"run again{' in a new process' * started}"] * bool(self.afresh)
        searches = again + ["minimised"] * self.options.minimise
        besides = f"not counting {'the start of that process, ' * started}answers and pictures"
        timed = f"; {' and '.join(searches)} for at most {self.options.finishing:g} s ({besides})" if searches else ""
        return f"{counted(count, 'finding')}: how large, what the model says, where it begins{timed}"

    def finish(self, progress: Progress = quietly, stopped: Callable[[], bool] = never) -> int:
        """Works through all findings in the campaign's folder that are not finished yet; how many it came to."""
        open_ones = self._open()
        worked = self.finish_these(open_ones, progress, stopped)
        if worked.late:
            self.remarks.append(
                f"{worked.late:,} of {counted(len(open_ones), 'finding')} could not be minimised to the end, because "
                f"--finishing {self.options.finishing:g}s was over: jostle tmin {self.folder} goes on"
            )
        return worked.done

    def finish_these(
        self, open_ones: Sequence[Recorded], progress: Progress = quietly, stopped: Callable[[], bool] = never
    ) -> Worked:
        """Works through findings of the campaign, some at a time."""
        done, late, left = 0, 0, len(open_ones)
        with ExitStack() as stack:
            again = self._opened(stack) if left and not stopped() else None
            # loading the model does not count
            deadline = Deadline.after(self.options.finishing, self.clock, stopped if self.stops_searches else never)
            for some in progress(_batches(open_ones, self._at_once), left):
                if stopped():
                    break  # the same command goes on from here
                findings = [read_finding(place, record) for place, record in some]
                late += self._finish(findings, again, deadline.share(len(some), left))
                done, left = done + len(some), left - len(some)
        return Worked(done, late)

    def _open(self) -> list[Recorded]:
        return [(place, record) for place, record in recorded(self.folder / FINDINGS) if record.finished is None]

    @property
    def _at_once(self) -> int:
        """How many findings are worked on together: no more than the model runs in one batch."""
        return min(AT_ONCE, self.settings[BatchOptions].rows)

    def _opened(self, stack: ExitStack) -> Target | None:
        """The model in a new process, where findings are confirmed; that it cannot be loaded twice ends nothing."""
        if self.afresh is None:
            return None
        try:
            return stack.enter_context(self.afresh())
        except JostleError as error:
            self.remarks.append(f"findings were not run again, because a new process cannot run the model: {error}")
            return None

    def _finish(self, findings: list[SavedFinding], again: Target | None, deadline: Deadline) -> int:
        """Works through findings of one kind and writes what came of it; how many there was no time to make small."""
        like, rows = findings[0].record, self._candidates(findings)
        references = torch.stack([finding.reference for finding in findings])
        confirmations = self._confirmed(rows, findings, again, deadline)
        shrinks = self._shrinks(like)
        small = self._shrunk(rows, findings, deadline) if shrinks and not deadline.passed else None
        late = shrinks and deadline.passed  # also where the time was over in the midst of it
        traces = self._traces(rows, references, small, like.kind)
        known = _Known(
            changes=_sized(rows.inputs, references, self.seeds.domain),
            minimised=None if small is None else _sized(small.inputs, small.rows.references, self.seeds.domain),
            steps=None if small is None else small.steps,
            answers={name: self._answers(trace) for name, trace in traces.items()} if self._classes else {},
            divergences=self._divergences(rows.inputs, like),
            confirmations=confirmations,
            locations=self._locations(rows, traces, like),
            cut_off=late and small is not None,
        )
        arrays = self._arrays(rows, small, traces)
        for row, finding in enumerate(findings):
            if not _smaller_before(finding.record, known.of(row)):
                self._write(finding, {name: array[row] for name, array in arrays.items()}, known.of(row))
        return len(findings) if late else 0

    @property
    def _classes(self) -> bool:
        return bool(self.prepared.flight.classes)

    def _traces(self, rows: Candidates, references: Tensor, small: Shrunk | None, kind: str) -> dict[str, Trace | None]:
        """What the model does with each array, by its name; None where it crashes, and waiting for it may take long."""
        asked = {"seed": rows.originals, "reference": references}
        traces: dict[str, Trace | None] = {
            name: self.target.run(replace(rows, inputs=inputs)) for name, inputs in asked.items()
        }
        traces["input"] = None if kind == CRASH else self.target.run(rows)
        if small is not None:
            traces["minimised"] = None if kind == CRASH else self.target.run(small.rows, watched=False)
        return traces

    def _arrays(self, rows: Candidates, small: Shrunk | None, traces: Mapping[str, Trace | None]) -> dict[str, Tensor]:
        """What is written beside each record, by name; the input itself stands there already."""
        arrays = {"input": rows.inputs}
        if small is not None:
            arrays[MINIMISED] = small.inputs
            if not torch.equal(small.rows.lineage.rows, rows.lineage.rows):
                arrays[MINIMISED_REFERENCE] = small.rows.references
        places = None if traces["input"] is None else self._seed_layers.places(traces["input"])
        return arrays if places is None else {**arrays, HIDDEN: places}

    @cached_property
    def _seed_layers(self) -> SeedLayers:
        layers = self.prepared.model.novelty_layers
        return SeedLayers.of(self.target, self.seeds, self.settings[BatchOptions].rows, layers)

    def _confirmed(
        self, rows: Candidates, findings: Sequence[SavedFinding], again: Target | None, deadline: Deadline
    ) -> Sequence[Confirmation | None]:
        """How often findings show again, as far as known before or found out now; of what only a gradient shows not."""
        like = findings[0].record
        oracle, known = self._oracle(like), [_confirmation(finding.record) for finding in findings]
        if again is None or oracle is None or like.of_gradient or None not in known:
            return known
        confirming = Confirming(again, oracle, like.kind, self.settings[BatchOptions].rows, self.same_process)
        half = deadline.share(1, 2) if self._shrinks(like) else deadline  # the rest is for minimising
        return confirming.confirmed(rows, _bugs(findings), half)

    def _locations(
        self, rows: Candidates, traces: Mapping[str, Trace | None], like: FindingRecord
    ) -> Sequence[Location | None]:
        """Where findings begin; of twins that disagree, their divergence tells."""
        trace, seeds, references = (traces[name] for name in ("input", "seed", "reference"))
        if trace is None or seeds is None or references is None or like.of_gradient or self._variant(like) is not None:
            return [None] * len(rows)
        if like.kind == "nan":
            return not_finite(rows, trace, self.prepared.model.gradients)
        from_references = departures(trace, references, self._seed_layers)
        from_seeds = departures(trace, seeds, self._seed_layers)  # of inputs that were moved, and nothing else
        return [one or other for one, other in zip(from_references, from_seeds, strict=True)]

    def _variant(self, like: FindingRecord) -> str | None:
        """The twin that findings like this one disagree with; None where they are not of twins."""
        twins = self.prepared.model.twins
        return next((one for one in twins if kind_beside("agree", one) == like.kind), None)

    def _divergences(self, inputs: Tensor, like: FindingRecord) -> Sequence[Divergence | None]:
        """Where twins part on inputs [batch, ...] of findings like this one; nothing where it is not of twins."""
        variant = self._variant(like)
        if variant is None or self._twin_layers is None or like.of_gradient:
            return [None] * len(inputs)
        return self._twin_layers.on(inputs, variant)

    @cached_property
    def _twin_layers(self) -> LocatedDivergence | None:
        model = self.prepared.model
        if model.twin_layers is None:
            return None
        return LocatedDivergence(ContainedLayers(model.twin_layers), self.seeds.inputs, model.twins)

    def _write(self, finding: SavedFinding, arrays: Mapping[str, Tensor], finished: FinishedArray) -> None:
        for name in ("input", MINIMISED):
            if name in arrays:
                self._write_readable(finding, name, arrays[name])
        finish_finding(finding, finished, {name: array for name, array in arrays.items() if name != "input"})
        if MINIMISED in arrays and MINIMISED_REFERENCE not in arrays:
            remove(finding.folder / f"{MINIMISED_REFERENCE}.npy")  # of what was minimised before

    def _write_readable(self, finding: SavedFinding, name: str, array: Tensor) -> None:
        """The array as files that other programs open."""
        if self.options.as_images:
            write_png(finding.folder / f"{name}.png", array, *self.settings[InputOptions].bounds)
        files, prefix = self.domain.files(array, finding.reference), "" if name == "input" else f"{name}-"
        if files:
            write_files(finding.folder, {f"{prefix}{file}": content for file, content in files.items()}, synced=True)

    def _shrinks(self, record: FindingRecord) -> bool:
        """A finding of one of our oracles can be shrunk; not one of a gradient, which no forward pass shows."""
        return self.options.minimise and self._oracle(record) is not None and not record.of_gradient

    def _oracle(self, record: FindingRecord) -> Oracle | None:
        """What found it; all properties of users find the same kind, and their fingerprints name them."""
        if record.kind != PROPERTY:
            return self.oracles.get(record.kind)
        _, _, name = record.fingerprint.partition(":")
        return next(
            (one for spec, one in self.oracles.items() if names_object(spec) and shown_name(spec) == name), None
        )

    def _shrunk(self, rows: Candidates, findings: Sequence[SavedFinding], deadline: Deadline) -> Shrunk:
        oracle = self._oracle(findings[0].record)
        assert oracle is not None, "else it is not shrunk"
        shrinker = Shrinker(
            self.target,
            oracle,
            self.settings,
            self.domain,
            self.prepared.model.gradients if self._classes else None,
            self._ancestry,
        )
        return shrinker.shrunk(rows, [finding.record for finding in findings], _bugs(findings), deadline)

    @cached_property
    def _ancestry(self) -> Ancestry | None:
        return Ancestry.of(self.folder) if (self.folder / JOURNAL).exists() else None

    def _candidates(self, findings: list[SavedFinding]) -> Candidates:
        roots = torch.tensor([finding.record.root for finding in findings])
        for finding in findings:
            shapes = {finding.input.shape, finding.reference.shape}
            if not 0 <= finding.record.root < len(self.seeds) or shapes != {self.seeds.inputs.shape[1:]}:
                raise OutputRefused(f"{finding.folder} is not of these seeds: move the folder away")
        border = Border(self.settings[MetamorphicOptions].border)
        return Candidates(
            torch.stack([finding.input for finding in findings]),
            self.seeds,
            torch.full((len(findings),), NO_PARENT),
            roots,
            Mutations.of(finding.record.mutation for finding in findings),
            joined([lineage_of(finding, border, self.domain) for finding in findings]),
        )

    def _answers(self, trace: Trace | None) -> Sequence[dict[str, Answer]] | None:
        """What each model says of each input, and how sure it is; nothing where it fails or scores are not finite."""
        if trace is None:
            return None
        said: list[dict[str, Answer]] = [{} for _ in range(len(trace.outcome))]
        for name, outputs in trace.outputs.items():
            sure, labels = probabilities(outputs.float()).max(1)
            for row, (label, confidence) in enumerate(zip(labels.tolist(), sure.tolist(), strict=True)):
                if math.isfinite(confidence):
                    said[row][name] = Answer(label, confidence)
        return said


@dataclass(frozen=True)
class _Known:
    """What finishing tells of some findings; row i belongs to finding i."""

    changes: Sequence[ChangeSizes]
    minimised: Sequence[ChangeSizes] | None
    steps: Sequence[tuple[Mutation, ...] | None] | None
    answers: Mapping[str, Sequence[dict[str, Answer]] | None]  # None where there are none
    divergences: Sequence[Divergence | None]
    confirmations: Sequence[Confirmation | None]
    locations: Sequence[Location | None]
    cut_off: bool  # minimising, of all of them

    def of(self, row: int) -> FinishedArray:
        return FinishedArray(
            self.changes[row],
            None if self.minimised is None else self.minimised[row],
            {name: {} if answers is None else answers[row] for name, answers in self.answers.items()},
            self.divergences[row],
            self.confirmations[row],
            self.locations[row],
            None if self.steps is None else self.steps[row],
            self.cut_off,
        )


def _batches(findings: Sequence[Recorded], at_once: int) -> list[list[Recorded]]:
    """Findings of one kind each, so many as can be worked on at once: one that ends its process, only alone."""
    alike: dict[tuple[object, ...], list[Recorded]] = {}
    for place, record in findings:
        name = record.fingerprint if record.kind == PROPERTY else record.kind
        alike.setdefault((name, record.of_gradient, record.fatal), []).append((place, record))
    batches = []
    for group in alike.values():
        size = 1 if group[0][1].fatal else at_once
        batches += [group[start : start + size] for start in range(0, len(group), size)]
    return batches


def _confirmation(record: FindingRecord) -> Confirmation | None:
    return record.finished.confirmation if isinstance(record.finished, FinishedArray) else None


def _smaller_before(record: FindingRecord, now: FinishedArray) -> bool:
    """Whether less time than before came to nothing smaller, so that what stands there is better."""
    before = record.finished.minimised if isinstance(record.finished, FinishedArray) else None
    if before is None or now.small:
        return False
    return now.minimised is None or now.minimised.euclidean >= before.euclidean


def _bugs(findings: Sequence[SavedFinding]) -> Tensor:
    """[findings]"""
    return torch.tensor([finding.record.bug for finding in findings])


def _sized(inputs: Tensor, references: Tensor, domain: Domain | None) -> list[ChangeSizes]:
    measures = edit_sizes(inputs, references, domain) if isinstance(domain, Tokens) else sizes(inputs, references)
    rows = zip(*(measures[name].tolist() for name in ("L0", "L2", "relative L2", "L∞")), strict=True)
    return [ChangeSizes(*row) for row in rows]

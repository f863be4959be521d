"""Findings run once more, each alone, on the model that they were found in or on another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from jostle.catalogue import oracles_of
from jostle.composition.settle import settled
from jostle.errors import OutputRefused, UsageError
from jostle.foreign import CRASH, Crash, attempt
from jostle.inputs.geometry import Placements
from jostle.inputs.value_range import domain_of
from jostle.lineage import Lineage, Untouched
from jostle.named_objects import make_working_folder_importable, names_object
from jostle.options.campaign import InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.part import TRIED, PartContext
from jostle.recipes.all_recipes import recipe_of
from jostle.records import NO_BUG, NO_PARENT, Candidates, Seeds, Violation
from jostle.session.isolate import isolated, limits_of
from jostle.session.reopen import Reopened, python_file, recorded_campaign
from jostle.storage.campaign_record import CONFIG, COPY, Origin
from jostle.storage.finding_record import RECORD, FindingRecord
from jostle.storage.findings import (
    FINDINGS,
    SavedFinding,
    SavedRoot,
    finding_folders,
    read_finding,
    read_record,
    read_root,
)
from jostle.subjects.instrument import Instrumented
from jostle.task import LabelReading, Task

NOTHING_ELSE = Given({})
IMAGE_LIKE = (3, 4)  # dimensions of images and of volumes
MOST_SEEDS = 10_000_000  # of a campaign; a record that tells of more is damaged
OF_ONE_MODEL = ("weights", "layers")  # options that do not hold of another model
NOT_JUDGED = (CRASH, "nan")  # an input that shows one of these cannot be judged by other oracles
OF_GRADIENT = "it is of a gradient that is not finite, which a run of the model alone does not show"


class ReplayStatus(StrEnum):
    """What became of a finding."""

    AGAIN = "shown again"
    OTHERWISE = "still wrong, in another way"
    GONE = "not shown again"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Replay:
    """What the input of a finding shows when it runs again."""

    folder: Path
    record: FindingRecord
    shown: tuple[Violation, ...] = ()
    changed: bool = False  # model or code are not what they were when it was found
    ran: bool = True

    @property
    def status(self) -> ReplayStatus:
        if not self.ran:
            return ReplayStatus.NOT_RUN
        if any(violation.fingerprint == self.record.fingerprint for violation in self.shown):
            return ReplayStatus.AGAIN
        return ReplayStatus.OTHERWISE if self.other_ways else ReplayStatus.GONE

    @property
    def other_ways(self) -> list[Violation]:
        """How it violates what the finding's oracle seeks, or cannot be judged by it, other than was recorded."""
        kinds = (self.record.kind, *NOT_JUDGED)
        return [one for one in self.shown if one.kind in kinds and one.fingerprint != self.record.fingerprint]

    @property
    def still_wrong(self) -> bool:
        return self.status in (ReplayStatus.AGAIN, ReplayStatus.OTHERWISE)


@dataclass(frozen=True)
class KeptFinding:
    """A finding with all that its folder holds, and its campaign."""

    finding: SavedFinding
    root: SavedRoot
    campaign: Reopened

    @property
    def alike(self) -> str:
        """Equal for findings that one model can be loaded for."""
        return f"{self.campaign.record.as_json()} {tuple(self.finding.input.shape)} {self.finding.input.dtype}"


def replay(places: Sequence[Path], changes: Given = NOTHING_ELSE) -> list[Replay]:
    """Runs findings in a process of their own, as their campaigns did but for these options.

    A place is the folder of a finding, or one of a campaign or of several findings, which stands for all in it.
    """
    changes = _from_here(changes)
    folders = dict.fromkeys(folder.resolve() for place in places for folder in _findings_in(place))
    records = {folder: _record_in(folder) for folder in folders}
    groups: dict[str, list[KeptFinding]] = {}
    for folder, record in records.items():
        if not record.of_gradient:
            kept = _kept(folder, record)
            groups.setdefault(kept.alike, []).append(kept)
    done = {one.folder: one for group in groups.values() for one in _replayed(group, changes)}
    return [done.get(folder, Replay(folder, record, ran=False)) for folder, record in records.items()]


def _findings_in(place: Path) -> list[Path]:
    """The folders of findings that a place stands for; of a place that holds none, itself."""
    if (place / FINDINGS).is_dir():
        return finding_folders(place / FINDINGS)
    several = [folder for folder in finding_folders(place) if (folder / RECORD).exists()]
    return [place] if (place / RECORD).exists() or not several else several


def _record_in(folder: Path) -> FindingRecord:
    try:
        return read_record(folder)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{folder} holds no finding ({reason}): give one of the folders under CAMPAIGN/findings, or the campaign's"
        ) from error


def _kept(folder: Path, record: FindingRecord) -> KeptFinding:
    """A finding with the record of its campaign, of which findings of older versions have no copy."""
    own = (folder / COPY).exists()
    campaign = recorded_campaign(folder if own else folder.parent.parent, COPY if own else CONFIG)
    finding = read_finding(folder, record)
    root = read_root(finding)
    if not 0 <= record.root < MOST_SEEDS or campaign.record.origin.task not in list(Task):
        raise OutputRefused(f"{folder} tells of a seed or a task that cannot be: move the folder away")
    return KeptFinding(finding, root, campaign)


def _from_here(changes: Given) -> Given:
    """The same options with names of files that stand wherever we go."""
    named = {name: _absolute(changes.get(name)) for name in ("model", "weights") if name in changes}
    if "model" in changes and names_object(changes.get("model")):
        make_working_folder_importable()
    return changes.over(**named)


def _absolute(spec: str) -> str:
    file = python_file(spec)
    if file is not None:
        return f"{file.absolute()}:{spec.rpartition(':')[2]}"
    return spec if names_object(spec) else str(Path(spec).absolute())


def _replayed(group: Sequence[KeptFinding], changes: Given) -> list[Replay]:
    """What the findings of one campaign show, on a model that is loaded once."""
    campaign = group[0].campaign.but_for(*changes.values, *(OF_ONE_MODEL if "model" in changes else ()))
    given = campaign.given.over(**{"trust_model": False, "isolate": True, "force": True, **changes.values})
    with campaign.in_its_folder():
        if not given.of(ModelOptions).trust_model:
            _refuse_enclosed(campaign.names(), [kept.finding.folder for kept in group])
        limits = limits_of(given)
        assert limits is not None, "isolated"
        model, service = isolated(given, _sample(group), limits, campaign.record.origin.layout)
        with closing(service):
            changed = campaign.files_changed() or not campaign.record.digest.endswith(model.digest)
            bench = _Bench(given, model, campaign.record.origin, other="model" in changes)
            return [Replay(kept.finding.folder, kept.finding.record, bench.shown(kept), changed) for kept in group]


def _refuse_enclosed(names: Iterable[str], findings: Sequence[Path]) -> None:
    """Python that came along with a finding is not run unless the user trusts it."""
    campaigns = {folder.parent.parent for folder in findings if (folder.parent.parent / CONFIG).exists()}
    for name in names:
        file = python_file(name)
        for folder in (*findings, *campaigns):
            if file is not None and file.resolve().is_relative_to(folder):
                raise UsageError(
                    f"{name} came with the finding in {folder}, and would be run: add --trust-model if you trust its "
                    f"origin, or give your own --model"
                )


def _sample(group: Sequence[KeptFinding]) -> Tensor:
    """Inputs to see the model's layers on: seeds, and nothing but zeros, should the model die of those."""
    seeds = torch.stack([kept.root.seed for kept in group[: TRIED - 1]])
    return torch.cat([seeds, torch.zeros_like(seeds[:1])])


def _lineage(root: SavedRoot) -> Lineage:
    """How an image was moved; other inputs are compared with their seeds."""
    if root.placement is None or root.seed.ndim not in IMAGE_LIKE:
        return Untouched(1)
    return Placements(root.placement[None])


@dataclass(frozen=True)
class _Bench:
    """A model that is loaded, and the oracles of its campaign."""

    given: Given
    model: Instrumented
    origin: Origin
    other: bool  # another model than the campaign's

    def shown(self, kept: KeptFinding) -> tuple[Violation, ...]:
        """All that the input of a finding violates when it runs alone."""
        row = self._row(kept)
        trace = self.model.target.run(row)
        context = self._context(row.seeds)
        settings = settled(recipe_of(self.given), self.given, context.reading.task)
        verdicts = [oracle.judge(row, trace) for oracle in oracles_of(settings, context).values()]
        return tuple(verdict.describe(0) for verdict in verdicts if int(verdict.bugs[0]) != NO_BUG)

    def _row(self, kept: KeptFinding) -> Candidates:
        """The input of a finding, whose seed stands where it stood among those of its campaign."""
        record, root = kept.finding.record, kept.root
        count = record.root + 1
        seed, label = (value[None].expand(count, *value.shape) for value in (root.seed, root.label))
        answer = self._answer(root)
        answers = None if answer is None else answer.expand(count, *answer.shape[1:])
        seeds = Seeds(seed, label, (record.seed,) * count, answers=answers)
        seeds = replace(seeds, domain=domain_of(seeds, *self.given.of(InputOptions).range))
        at, lineage = torch.tensor([record.root]), _lineage(root)
        return Candidates(kept.finding.input[None], seeds, torch.tensor([NO_PARENT]), at, (record.mutation,), lineage)

    def _answer(self, root: SavedRoot) -> Tensor | None:
        """What the model says of the seed [1, ...] now; if it fails, what it said then."""
        now = attempt(partial(self.model.target.predict, root.seed[None]))
        if not isinstance(now, Crash):
            return now
        return None if root.answer is None else root.answer[None]

    def _context(self, seeds: Seeds) -> PartContext:
        task = Task(self.origin.task)
        reading = LabelReading(task, self.origin.cut)
        if self.other and seeds.answers is not None:
            reading = LabelReading.of(task, seeds.answers[:1])
        classes = 2 if seeds.answers is None else seeds.answers.shape[-1]  # unknown, it is one that can be compared
        return PartContext(seeds, classes if task is Task.CLASSES else 0, reading, gradients=self.model.gradients)

"""Findings run once more, each alone, on the model that they were found in or on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import torch
from torch import Tensor

from jostle.catalogue import oracles_of
from jostle.commands.kept_findings import (
    KeptFinding,
    Unreadable,
    findings_in,
    kept_finding,
    read_findings,
    record_in,
    refuse_if_none,
)
from jostle.composition.settle import FUZZ, settled
from jostle.domain import Domain
from jostle.errors import OutputRefused, UsageError
from jostle.foreign import CRASH
from jostle.held import is_held, shown_name, was_held
from jostle.inputs.geometry import Border
from jostle.inputs.named_arrays import InputWishes, domain_to_replay
from jostle.inputs.several import Several, layout_of
from jostle.inputs.value_range import ValueRange
from jostle.mutations import Mutations
from jostle.named_objects import make_importable, names_object
from jostle.options.campaign import InputOptions
from jostle.options.schema import NOTHING_ELSE, Given
from jostle.oracles.properties import PROPERTY
from jostle.part import TRIED, PartContext
from jostle.recipes.all_recipes import recipe_of
from jostle.records import MODEL, NO_BUG, NO_PARENT, Candidates, Seeds, Trace, Violation
from jostle.session.folder_trust import FolderTrust
from jostle.session.isolate import any_held
from jostle.session.load import Loaded
from jostle.session.made_twins import twins_folder
from jostle.session.open_models import open_models
from jostle.session.reopen import NO_CONSENT, Reopened, python_file
from jostle.session.threads import on_threads
from jostle.storage.campaign_record import CONFIG, IN_PLACE_OF_OBJECT, REPLAYED, CampaignRecord, Origin
from jostle.storage.finding_record import RECORD, FindingRecord
from jostle.storage.findings import SavedRoot, lineage_of, read_finding, read_root
from jostle.subjects.instrument import Instrumented
from jostle.task import LabelReading, Task

OF_ONE_MODEL = ("weights", "layers")  # options that do not hold of another model
# Options whose values are files if they name no Python, and those whose values may be.
ALWAYS_FILES, MAY_BE_FILES = ("model", "weights", "seeds"), ("twin", "models", "tokenizer")
NOT_JUDGED = (CRASH, "nan")  # an input that shows one of these cannot be judged by other oracles
OF_GRADIENT = "it is of a gradient that is not finite, which a run of the model alone does not show"
OF_OTHER_SHAPE = "its input has another shape than the seeds have now"
NOT_SOUGHT = "none of the oracles seeks what it shows"


class ReplayStatus(StrEnum):
    """What became of a finding."""

    AGAIN = "shown again"
    OTHERWISE = "still wrong, in another way"
    GONE = "not shown again"
    NOT_RUN = "not run"


class Verdict(StrEnum):
    """What became of a finding, in the words of whoever mends the model."""

    STILL_THERE = "still there"
    NEW = "new"  # what was recorded is gone, and the input is wrong in another way
    MENDED = "mended"
    NOT_RUN = "not run"


VERDICTS = {
    ReplayStatus.AGAIN: Verdict.STILL_THERE,
    ReplayStatus.OTHERWISE: Verdict.NEW,
    ReplayStatus.GONE: Verdict.MENDED,
    ReplayStatus.NOT_RUN: Verdict.NOT_RUN,
}


@dataclass(frozen=True)
class Replay:
    """What the input of a finding shows when it runs again."""

    folder: Path
    record: FindingRecord
    shown: tuple[Violation, ...] = ()
    changed: bool = False  # model or code are not what they were when it was found
    not_run: str = ""  # why nobody can tell what it shows, if so

    @property
    def ran(self) -> bool:
        return not self.not_run

    @property
    def status(self) -> ReplayStatus:
        if not self.ran:
            return ReplayStatus.NOT_RUN
        if any(violation.fingerprint == self.record.fingerprint for violation in self.shown):
            return ReplayStatus.AGAIN
        return ReplayStatus.OTHERWISE if self.other_ways else ReplayStatus.GONE

    @property
    def verdict(self) -> Verdict:
        return VERDICTS[self.status]

    @property
    def other_ways(self) -> list[Violation]:
        """How it violates what the finding's oracle seeks, or cannot be judged by it, other than was recorded."""
        kinds = (self.record.kind, *NOT_JUDGED)
        return [one for one in self.shown if one.kind in kinds and one.fingerprint != self.record.fingerprint]

    @property
    def still_wrong(self) -> bool:
        return self.status in (ReplayStatus.AGAIN, ReplayStatus.OTHERWISE)


def with_model(names: Sequence[Path], changes: Given) -> tuple[list[Path], Given]:
    """Folders of findings, and options: a name that stands last and holds no findings is the model to run them on."""
    *before, last = names
    is_model = names_object(str(last)) or (last.exists() and not _holds_findings(last))
    if not before or not is_model:
        return list(names), changes
    if "model" in changes:
        raise UsageError(f"{last} and --model {changes.get('model')} both name a model: give one of them")
    return before, changes.over(model=str(last))


def _holds_findings(place: Path) -> bool:
    return (place / CONFIG).exists() or findings_in(place) != [place] or (place / RECORD).exists()


@dataclass(frozen=True)
class Replayed:
    """What became of findings, and which of them could not be read."""

    findings: list[Replay]
    unreadable: list[Unreadable]


def replay(places: Sequence[Path], changes: Given = NOTHING_ELSE, project: Path | None = None) -> list[Replay]:
    """What became of findings; those that cannot be read are left out, unless they were named themselves."""
    return replay_readable(places, changes, project).findings


def replay_readable(places: Sequence[Path], changes: Given = NOTHING_ELSE, project: Path | None = None) -> Replayed:
    """Runs findings in a process of their own, as their campaigns did but for these options.

    Code that they name must be the user's own, or that of a project whose tests run.

    Objects of a script run in this one. A place is the folder of a finding, or one of a campaign or of several
    findings, which stands for all in it: of these, damaged ones are left out. One that is named itself is refused then.
    """
    trust, changes, read = FolderTrust.of(changes, project), from_here(changes), read_findings(places)
    named, unreadable = {place.resolve() for place in places}, list(read.unreadable)
    groups: dict[str, list[KeptFinding]] = {}
    for folder, record in read.found:
        if record.of_gradient:
            continue
        try:
            kept = kept_finding(folder, record)
        except OutputRefused as error:
            if folder in named:
                raise
            unreadable.append(Unreadable(folder, str(error)))
            continue
        groups.setdefault(kept.alike, []).append(kept)
    done = {one.folder: one for group in groups.values() for one in _replayed(group, changes, trust)}
    gradients = ((folder, record) for folder, record in read.found if record.of_gradient)
    not_run = {folder: Replay(folder, record, not_run=OF_GRADIENT) for folder, record in gradients}
    results = {**done, **not_run}
    refuse_if_none(results, unreadable)
    return Replayed([results[folder] for folder, _ in read.found if folder in results], unreadable)


def replay_on(loaded: Loaded, folders: Sequence[Path]) -> list[Replay]:
    """What the inputs of findings show on a model that is loaded, judged as its own campaign would judge them.

    Findings of other shapes than the seeds cannot run, and of those that no oracle seeks nobody knows what became.
    """
    settings, flight = loaded.settings.values, loaded.flight
    given = FUZZ.parsed({name: value for name, value in settings.items() if name in FUZZ.options})
    origin = Origin(task=str(flight.reading.task), cut=flight.reading.cut, layout=layout_of(flight.seeds))
    judged = _JudgedModel(given, loaded.model, origin, other=False)
    campaign = Reopened(given, CampaignRecord(settings, digest=loaded.digest, origin=origin))
    replays = []
    for folder in folders:
        finding = read_finding(folder, record_in(folder))
        kept = KeptFinding(finding, read_root(finding), campaign)
        if finding.record.of_gradient:
            replays.append(Replay(folder, finding.record, not_run=OF_GRADIENT))
        elif finding.input.shape != flight.seeds.inputs.shape[1:]:
            replays.append(Replay(folder, finding.record, not_run=OF_OTHER_SHAPE))
        else:
            replays.append(judged.replay(kept, judged.answers([kept])[0]))
    return replays


def from_here(changes: Given) -> Given:
    """The same options of a campaign with names of files that stand wherever we go."""
    given = {name: changes.get(name) for name in (*REPLAYED, "seeds") if name in changes}
    named = {
        name: _absolute(name, value) if isinstance(value, str) else [_absolute(name, one) for one in value]
        for name, value in given.items()
    }
    changed = changes.over(**named, trust_folder=None)
    for spec in (spec for name in named for spec in changed.texts(name)):
        if names_object(spec) and python_file(spec) is None:
            make_importable(spec.rpartition(":")[0])
    return changed


def _absolute(option: str, spec: str) -> str:
    """What an option names, as it is called everywhere; words such as int8 name no file."""
    file = python_file(spec)
    if file is not None:
        return f"{file.absolute()}:{spec.rpartition(':')[2]}"
    is_file = option in ALWAYS_FILES or (option in MAY_BE_FILES and Path(spec).exists())
    return str(Path(spec).absolute()) if is_file and not names_object(spec) else spec


def _replayed(group: Sequence[KeptFinding], changes: Given, trust: FolderTrust) -> list[Replay]:
    """What the findings of one campaign show, on a model that is loaded once."""
    others = OF_ONE_MODEL if "model" in changes else ()
    campaign = group[0].campaign.but_for(*changes.values, *others).naming_only(*REPLAYED)
    given = campaign.given.over(**{**NO_CONSENT, "force": True, **changes.values})
    _refuse_missing(given)
    given = given.over(isolate=None if any_held(given) else True)
    with campaign.in_its_folder(trust), ExitStack() as stack:
        trust.check(given, [kept.finding.folder for kept in group])
        stack.enter_context(on_threads(given))
        twins = stack.enter_context(twins_folder(_twins_of(group[0].finding.folder, changes)))
        model, service = open_models(given, _sample(group), campaign.record.origin.layout, twins)
        if service is not None:
            stack.callback(service.close)
        changed = bool(campaign.changed_files()) or not campaign.record.digest.endswith(model.digest)
        judged = _JudgedModel(given, model, campaign.record.origin, other="model" in changes)
        answers = judged.answers(group)
        return [judged.replay(kept, answer, changed) for kept, answer in zip(group, answers, strict=True)]


def _refuse_missing(given: Given) -> None:
    """Refuses objects of a script that nobody holds now."""
    for option in REPLAYED:
        value = given.get(option) or ()
        for name in (value,) if isinstance(value, str) else value:
            if was_held(name) and not is_held(name):
                raise UsageError(
                    f"{shown_name(name)} was an object of a script: give what stands for it, --{option} "
                    f"{IN_PLACE_OF_OBJECT}, or the object to jostle.replay, as {option}=…"
                )


def _twins_of(finding: Path, changes: Given) -> Path | None:
    """The campaign whose twins are used again; twins of another model are made anew."""
    campaign = finding.parent.parent
    other = {"model", "weights", "twin"} & changes.values.keys()
    return None if other or not (campaign / CONFIG).exists() else campaign


def _sample(group: Sequence[KeptFinding]) -> Tensor:
    """Inputs to see the model's layers on: seeds, and nothing but zeros, should the model die of those."""
    seeds = torch.stack([kept.root.seed for kept in group[: TRIED - 1]])
    return torch.cat([seeds, torch.zeros_like(seeds[:1])])


@dataclass(frozen=True)
class _SeedAnswer:
    """What a model says of the seed of a finding."""

    answer: Tensor | None  # [1, ...], None where that is unknown
    others: Mapping[str, Tensor]  # by name, [1, ...]: all else that it returned


def _seed_of(root: SavedRoot) -> Candidates:
    return Seeds(root.seed[None], root.label[None], ("seed",)).as_candidates()


def _seed_answer(trace: Trace, root: SavedRoot) -> _SeedAnswer:
    """What the model said in this run, or if it failed, what it said when the finding was made."""
    if trace.ran[0]:
        return _SeedAnswer(trace.outputs[MODEL], trace.others)
    return _SeedAnswer(None if root.answer is None else root.answer[None], {})


def _oracle_of(record: FindingRecord) -> str:
    """The name of the oracle that found this; all properties find the same kind."""
    return record.fingerprint.removeprefix(f"{PROPERTY}:") if record.kind == PROPERTY else record.kind


@dataclass(frozen=True)
class _JudgedModel:
    """A model that is loaded, and the oracles of its campaign."""

    given: Given
    model: Instrumented
    origin: Origin
    other: bool  # another model than the campaign's

    def answers(self, group: Sequence[KeptFinding]) -> list[_SeedAnswer]:
        """What the model says of each seed now; where it fails, what the campaign's model said."""
        traces = [self.model.target.run(_seed_of(kept.root)) for kept in group]
        failed = [trace.crashes[0] for trace in traces if not trace.ran[0]]
        if self.other and len(failed) == len(traces):
            raise UsageError(
                f"--model fails on the seeds that the findings came from ({failed[0].error}: {failed[0].message}): "
                f"give a model of the same task"
            )
        return [_seed_answer(trace, kept.root) for trace, kept in zip(traces, group, strict=True)]

    def replay(self, kept: KeptFinding, answer: _SeedAnswer, changed: bool = False) -> Replay:
        """All that the input of a finding violates when it runs alone, given the answer to its seed."""
        row = self._row(kept, answer)
        trace = self.model.target.run(row)
        context = self._context(row.seeds)
        settings = settled(recipe_of(self.given), self.given, context.reading.task)
        oracles = oracles_of(settings, context)
        judges = list(oracles.values()) if trace.ran[0] else [oracles[CRASH]]  # there is nothing else to judge
        verdicts = [oracle.judge(row, trace) for oracle in judges]
        shown = tuple(verdict.describe(0) for verdict in verdicts if int(verdict.bugs[0]) != NO_BUG)
        done = Replay(kept.finding.folder, kept.finding.record, shown, changed)
        sought = {*oracles, *(verdict.kind for verdict in verdicts)}
        return done if done.still_wrong or _oracle_of(done.record) in sought else replace(done, not_run=NOT_SOUGHT)

    def _row(self, kept: KeptFinding, said: _SeedAnswer) -> Candidates:
        """The input of a finding, whose seed stands where it stood among those of its campaign."""
        record, root = kept.finding.record, kept.root
        count = record.root + 1
        seed, label = (value[None].expand(count, *value.shape) for value in (root.seed, root.label))
        answers = None if said.answer is None else said.answer.expand(count, *said.answer.shape[1:])
        more = {name: value.expand(count, *value.shape[1:]) for name, value in said.others.items()}
        seeds = Seeds(seed, label, (record.seed,) * count, answers=answers, other_answers=more)
        domain = self._domain(seed)
        seeds = replace(seeds, domain=domain)
        moving = domain if isinstance(domain, Several) and domain.moved is not None else None
        lineage = lineage_of(kept.finding, Border(self.given.get("border", Border.DARK)), moving)
        at = torch.tensor([record.root])
        mutations = Mutations.all_of(record.mutation, 1)
        return Candidates(kept.finding.input[None], seeds, torch.tensor([NO_PARENT]), at, mutations, lineage)

    def _domain(self, seeds: Tensor) -> Domain:
        """What seeds [seeds, ...] are; nothing changes them."""
        inputs, layout = self.given.of(InputOptions), self.origin.layout
        if layout is None:
            return ValueRange.of(seeds, *inputs.bounds)
        return domain_to_replay(layout, InputWishes(inputs.input, *inputs.bounds))

    def _context(self, seeds: Seeds) -> PartContext:
        task = Task(self.origin.task)
        reading = LabelReading(task, self.origin.cut)
        if self.other and seeds.answers is not None:
            reading = LabelReading.of(task, seeds.answers[:1])
        classes = 2 if seeds.answers is None else seeds.answers.shape[-1]  # unknown, it is one that can be compared
        classes = classes if task is Task.CLASSES else 0
        return PartContext(seeds, classes, reading, gradients=self.model.gradients, twins=self.model.twins)

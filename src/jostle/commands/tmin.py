"""Findings minimised when their campaign is over, on the model that they were found in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jostle.catalogue import oracles_of
from jostle.commands.kept_findings import Unreadable, originals, read_findings, refuse_if_none
from jostle.commands.replay import from_here
from jostle.commands.triage import Triaged, triage
from jostle.errors import UsageError
from jostle.lineage import Mutation
from jostle.options.campaign import FindingOptions
from jostle.options.schema import Given
from jostle.progress import Progress, quietly
from jostle.session.confirm import in_new_process
from jostle.session.finish import InputFinisher
from jostle.session.folder_trust import FolderTrust
from jostle.session.load import Loaded, load
from jostle.session.reopen import NO_CONSENT, Reopened, recorded_campaign
from jostle.storage.ancestry import Ancestry
from jostle.storage.archive import closed_after, open_campaign
from jostle.storage.campaign_record import CONFIG, REPLAYED
from jostle.storage.finding_record import ChangeSizes, FindingRecord, FinishedArray, sizes_as_json
from jostle.storage.findings import FINDINGS, Recorded, read_record
from jostle.triage.deadline import never


@dataclass(frozen=True)
class MinimisedFinding:
    """What minimising came to for one finding."""

    folder: Path
    record: FindingRecord  # as it is now
    steps: tuple[Mutation, ...]  # that made it from its seed
    worked_on: bool  # just now; else it had been minimised before, or cannot be

    @property
    def known(self) -> FinishedArray | None:
        return self.record.finished if isinstance(self.record.finished, FinishedArray) else None

    @property
    def before(self) -> ChangeSizes | None:
        return None if self.known is None else self.known.change

    @property
    def after(self) -> ChangeSizes | None:
        """None where it is not minimised: there was no time, or no run of the model can tell what is smaller."""
        return None if self.known is None else self.known.minimised

    @property
    def steps_left(self) -> tuple[Mutation, ...] | None:
        """None where the way from the seed could not be gone again."""
        return None if self.known is None else self.known.steps

    @property
    def left(self) -> bool:
        """Whether the same command goes on with it."""
        return is_open(self.record)

    def as_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "fingerprint": self.record.fingerprint,
            "worked_on": self.worked_on,
            "left": self.left,
            "before": None if self.before is None else sizes_as_json(self.before),
            "after": None if self.after is None else sizes_as_json(self.after),
            "steps": list(map(str, self.steps)),
            "steps_left": None if self.steps_left is None else list(map(str, self.steps_left)),
        }


@dataclass(frozen=True)
class Minimised:
    """What minimising came to."""

    findings: list[MinimisedFinding]
    unreadable: list[Unreadable]
    triaged: list[Triaged]  # their campaigns, whose defects show what is minimised
    stopped: bool  # somebody asked for it


@dataclass(frozen=True)
class Observer:
    """Who started it: is shown how far it is, may ask to stop, and is told what there is to know."""

    progress: Progress = quietly
    stopped: Callable[[], bool] = never
    say: Callable[[str], None] = field(default=lambda text: None)  # before it begins, and of what went wrong
    remark: Callable[[str], None] = field(default=lambda text: None)  # also to programs


NOBODY = Observer()


def minimise_findings(places: Sequence[Path], changes: Given, observer: Observer = NOBODY) -> Minimised:
    """Minimises findings, those that were minimised before left alone, in the folders where they stand.

    A place is the folder of a finding, or one of a campaign or of several findings, which stands for all in it; that
    of a defect stands for the finding it was copied from. Their campaigns must be there with their seeds; models run
    in a process of their own. In the end the campaigns' defects are written anew.
    """
    trust, changes = FolderTrust.of(changes), from_here(changes)
    read = read_findings([finding for place in places for finding in _meant(place, observer)])
    refuse_if_none(read.found, read.unreadable)
    campaigns: dict[Path, list[Recorded]] = {}
    for folder, record in read.found:
        campaigns.setdefault(folder.parent.parent, []).append((folder, record))
    worked_on: set[Path] = set()
    for campaign, findings in campaigns.items():
        open_ones = [one for one in findings if is_open(one[1])]
        if open_ones and not observer.stopped():
            _minimise(campaign, open_ones, changes, trust, observer)
            worked_on |= {folder for folder, _ in open_ones}
    ways = {campaign: Ancestry.of(campaign) for campaign in campaigns}
    results = [
        MinimisedFinding(folder, record, ways[campaign].steps(record), folder in worked_on)
        for campaign, findings in campaigns.items()
        for folder, record in ((folder, read_record(folder)) for folder, _ in findings)
    ]
    triaged = [triage(campaign) for campaign in campaigns if (campaign / CONFIG).exists()]
    return Minimised(results, read.unreadable, triaged, observer.stopped())


def _meant(place: Path, observer: Observer) -> list[Path]:
    """The place itself, or the findings that the defects there were copied from."""
    copied = originals(place)
    if copied is None:
        return [place]
    names = ", ".join(f"{FINDINGS}/{finding.name}" for finding in copied)
    observer.remark(f"{place} is a copy of {names}: that is minimised, and the copy is made anew")
    return copied


def is_open(record: FindingRecord) -> bool:
    """Whether it can be minimised and is not yet, or not to the end."""
    done = record.finished
    return not record.of_gradient and not (isinstance(done, FinishedArray) and done.small)


def _minimise(
    folder: Path, findings: Sequence[Recorded], changes: Given, trust: FolderTrust, observer: Observer
) -> None:
    if not (folder / CONFIG).exists() and findings[0][0].parent.name != FINDINGS:
        raise UsageError(
            f"{findings[0][0]} stands outside of its campaign, whose seeds minimising needs: give CAMPAIGN/findings/…"
        )
    campaign = recorded_campaign(folder)
    named = campaign.but_for(*changes.values).naming_only(*REPLAYED, "seeds")
    given = named.given.over(**_settings(folder, changes))
    with campaign.in_its_folder(trust), ExitStack() as stack:
        trust.check(given, [place for place, _ in findings])
        named.refuse_changed_files(folder)
        loaded = stack.enter_context(closing(load(given)))
        campaign.refuse_other_digest(folder, loaded.digest)
        _work_through(folder, findings, campaign, loaded, given, observer)


def _settings(folder: Path, changes: Given) -> dict[str, Any]:
    """How a campaign is opened to have its findings minimised."""
    budget = {"finishing": changes.get("budget")} if "budget" in changes else {}
    others = {name: value for name, value in changes.values.items() if name != "budget"}
    usual = {"isolate": True, "force": True, "minimise": True, "out": str(folder)}
    return {**NO_CONSENT, **usual, **budget, **others}


def _work_through(
    folder: Path, findings: Sequence[Recorded], campaign: Reopened, loaded: Loaded, given: Given, observer: Observer
) -> None:
    """Finishes findings, and confirms them where that was left."""
    confirm = loaded.settings[FindingOptions].confirm and any(_unconfirmed(record) for _, record in findings)
    with closed_after(open_campaign(folder, campaign.record)) as archive:
        finisher = InputFinisher(
            loaded.prepared,
            oracles_of(loaded.settings, loaded.prepared.context()),
            folder,
            partial(in_new_process, given, loaded) if confirm else None,
            stops_searches=True,
        )
        for warning in archive.quarantine.warnings:
            observer.remark(f"warning: {warning}")
        observer.say(f"working on {finisher.outlook_on(len(findings))}")
        finisher.finish_these(findings, observer.progress, observer.stopped)
        for remark in finisher.remarks:
            observer.remark(remark)


def _unconfirmed(record: FindingRecord) -> bool:
    return not isinstance(record.finished, FinishedArray) or record.finished.confirmation is None

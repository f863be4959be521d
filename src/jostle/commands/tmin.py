"""Findings made smaller when their campaign is over, on the model that they were found in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from jostle.catalogue import oracles_of
from jostle.commands.kept_findings import findings_in, record_in
from jostle.commands.replay import refuse_enclosed
from jostle.commands.triage import triage
from jostle.errors import UsageError
from jostle.lineage import Mutation
from jostle.options.campaign import FindingOptions, InputOptions, ModelOptions
from jostle.options.schema import Given
from jostle.progress import Progress, quietly
from jostle.session.confirm import in_new_process
from jostle.session.finish import InputFinisher
from jostle.session.load import Loaded, load
from jostle.session.reopen import Reopened, recorded_campaign
from jostle.storage.ancestry import Ancestry
from jostle.storage.archive import open_campaign
from jostle.storage.campaign_record import CONFIG
from jostle.storage.finding_record import ChangeSizes, FindingRecord, FinishedArray, sizes_as_json
from jostle.storage.findings import Recorded, read_record


@dataclass(frozen=True)
class Smaller:
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


def smaller(places: Sequence[Path], changes: Given, progress: Progress = quietly) -> list[Smaller]:
    """Minimises findings, those that were minimised before left alone, in the folders where they stand.

    A place is the folder of a finding, or one of a campaign or of several findings, which stands for all in it. Their
    campaigns must be there with their seeds; models run in a process of their own.
    """
    folders = dict.fromkeys(folder.resolve() for place in places for folder in _findings_in(place))
    campaigns: dict[Path, list[Recorded]] = {}
    for folder in folders:
        campaigns.setdefault(folder.parent.parent, []).append((folder, record_in(folder)))
    worked_on: set[Path] = set()
    for campaign, findings in campaigns.items():
        open_ones = [one for one in findings if is_open(one[1])]
        if open_ones:
            _minimise(campaign, open_ones, changes, progress)
            worked_on |= {folder for folder, _ in open_ones}
    ways = {campaign: Ancestry.of(campaign) for campaign in campaigns}
    return [
        Smaller(folder, record, ways[campaign].steps(record), folder in worked_on)
        for campaign, findings in campaigns.items()
        for folder, record in ((folder, read_record(folder)) for folder, _ in findings)
    ]


def _findings_in(place: Path) -> list[Path]:
    """As replaying finds them; what is not there is named with what is."""
    if not place.exists() and place.parent.is_dir():
        near = get_close_matches(place.name, [path.name for path in place.parent.iterdir()], n=1, cutoff=0.3)
        hint = f"the nearest name there is {near[0]}" if near else f"{place.parent} holds nothing of such a name"
        raise UsageError(f"{place} does not exist: {hint}")
    return findings_in(place)


def is_open(record: FindingRecord) -> bool:
    """Whether it can be minimised and is not yet, or not to the end."""
    done = record.finished
    return not record.of_gradient and not (isinstance(done, FinishedArray) and done.small)


def _minimise(folder: Path, findings: Sequence[Recorded], changes: Given, progress: Progress) -> None:
    if not (folder / CONFIG).exists():
        raise UsageError(
            f"{findings[0][0]} stands outside of its campaign, whose seeds minimising needs: give CAMPAIGN/findings/…"
        )
    campaign = recorded_campaign(folder)
    given = campaign.given.over(**_settings(folder, changes))
    with campaign.in_its_folder(), ExitStack() as stack:
        if not given.of(ModelOptions).trust_model:
            names = [*campaign.names(), given.of(InputOptions).seeds]
            refuse_enclosed(names, [place for place, _ in findings], campaign.elsewhere)
        if campaign.files_changed():
            raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
        loaded = stack.enter_context(closing(load(given)))
        if loaded.digest != campaign.record.digest:
            raise UsageError(f"the seeds or weights of the campaign in {folder} have changed: bring them back")
        _work_through(folder, findings, campaign, loaded, given, progress)
    triage(folder)


def _settings(folder: Path, changes: Given) -> dict[str, Any]:
    """How a campaign is opened to have its findings minimised."""
    budget = {"finishing": changes.get("budget")} if "budget" in changes else {}
    others = {name: value for name, value in changes.values.items() if name != "budget"}
    usual = {"trust_model": False, "isolate": True, "force": True, "minimise": True, "out": str(folder)}
    return {**usual, **budget, **others}


def _work_through(
    folder: Path, findings: Sequence[Recorded], campaign: Reopened, loaded: Loaded, given: Given, progress: Progress
) -> None:
    """Finishes findings, and confirms them where that was left."""
    confirm = loaded.settings[FindingOptions].confirm and any(record.finished is None for _, record in findings)
    archive = open_campaign(folder, campaign.record)
    try:
        finisher = InputFinisher(
            loaded.prepared,
            oracles_of(loaded.settings, loaded.prepared.context()),
            folder,
            partial(in_new_process, given, loaded) if confirm else None,
        )
        finisher.finish_these(findings, progress)
        archive.close()
    finally:
        archive.release()

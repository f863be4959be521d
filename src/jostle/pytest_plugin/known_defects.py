"""Defects that earlier runs of a test found: small cases, run on the model as it is before anything is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jostle.api.replaying import replayed
from jostle.api.result import Result
from jostle.commands.kept_findings import kept_finding
from jostle.commands.replay import Replay, ReplayStatus, Verdict
from jostle.commands.triage import Triaged
from jostle.errors import JostleError
from jostle.options.campaign import ModelOptions
from jostle.session.reopen import recorded_campaign
from jostle.session.session import Ended
from jostle.step_records import Summary
from jostle.storage.campaign_record import CONFIG, COPY, held_names, read_campaign
from jostle.storage.defect_case import BESIDE, DefectCase, cases_in, read_case, write_case
from jostle.storage.defect_record import CASE, Defect
from jostle.storage.defects import DEFECTS
from jostle.storage.files import make_folder, move, refuse_link, remove
from jostle.storage.findings import read_record

MENDED = "mended"  # where cases go that show no more
DAMAGED = "damaged"  # where cases go that cannot be read
MOST = 100  # cases of a test; all findings stay in the campaign's folder


@dataclass(frozen=True)
class ReplayedCases:
    """What became of cases."""

    still: list[Defect]
    mended: list[Defect]
    not_run: list[str]  # names and reasons
    damaged: list[str]  # the same


@dataclass(frozen=True)
class KnownDefects:
    """The cases of one call, in a folder."""

    folder: Path

    @property
    def cases(self) -> list[Path]:
        return cases_in(self.folder / DEFECTS)

    def replayed(self, model: object, seeds: object, labels: object, options: Mapping[str, Any]) -> ReplayedCases:
        """Runs all cases as `jostle.fuzz` would judge them, and moves those away that are mended or damaged."""
        self._refuse_links()
        damaged = list(self._set_aside())
        folders = self.cases
        replays = replayed(folders, model, seeds, labels, options) if folders else []
        found = [(_as_now(read_case(replay.folder).defect, replay), replay) for replay in replays]
        still = [defect for defect, replay in found if replay.still_wrong]
        mended = [defect for defect, replay in found if replay.verdict is Verdict.MENDED]
        for defect in mended:
            self._move_away(defect.name, MENDED)
        not_run = [f"{defect.name}: {replay.not_run}" for defect, replay in found if not replay.ran]
        return ReplayedCases(sorted(still, key=lambda defect: -defect.weight), mended, not_run, damaged)

    def _refuse_links(self) -> None:
        for place in (self.folder, *(self.folder / name for name in (DEFECTS, MENDED, DAMAGED))):
            refuse_link(place)
            for one in place.glob("*"):
                refuse_link(one)

    def _set_aside(self) -> Iterator[str]:
        """Moves cases away that cannot be read, such as those of another version, so that they fail no later run."""
        for folder in self.cases:
            try:
                kept_finding(folder, read_case(folder).record)
            except JostleError as error:
                self._move_away(folder.name, DAMAGED)
                yield f"{folder.name} to {self.folder.name}/{DAMAGED}/: {error}"

    def _move_away(self, name: str, to: str) -> None:
        make_folder(self.folder / to)
        if (self.folder / to / name).exists():
            remove(self.folder / to / name)
        move(self.folder / DEFECTS / name, self.folder / to / name)

    def keep(self, result: Result) -> None:
        """Keeps a case of each defect that every run shows, of those that matter most if there are many."""
        kept = {case.name for case in self.cases}
        stable = [defect for defect in result.defects if defect.unstable is None]
        new = [defect.name for defect in stable if defect.name not in kept][: max(0, MOST - len(kept))]
        for defect in (one for one in stable if one.name in {*kept, *new}):
            place = result.place(defect)
            case = DefectCase(defect, read_record(place), read_campaign(result.folder))
            write_case(self.folder / DEFECTS / defect.name, case, place, BESIDE)

    def case_of(self, result: Result, defect: Defect) -> Path:
        """The folder that shows a defect: its case, or the campaign's own where there is none."""
        place = self.folder / DEFECTS / defect.name
        return place if (place / CASE).is_file() else result.place(defect)

    def result(self, defects: Sequence[Defect]) -> Result:
        """Those that are still there, as if a campaign had found them that did nothing else."""
        kinds = Counter(defect.cause.kind for defect in defects)
        summary = Summary(0, 0, 0.0, 0, 0.0, {}, kinds, {}, {}, {}, {})
        triaged = Triaged(self.folder, list(defects), len(defects), 0, 0, at_work=False)
        return Result(triaged, Ended(summary, 0, full=False, stopped=False))


def replay_flags(place: Path, model: str) -> list[str] | None:
    """What `jostle replay` must be told to show on this model what a folder holds; None where it cannot.

    It cannot where objects of a script are needed, or where this was found in another model.
    """
    own = (place / COPY).exists()
    given = recorded_campaign(place if own else place.parent.parent, COPY if own else CONFIG).given
    if given.get("model") != model or any(held_names(given.values)):
        return None
    return ["--trust-model"] if given.of(ModelOptions).trust_model else []


def _as_now(defect: Defect, replay: Replay) -> Defect:
    """The defect, with what is wrong now where that is something else."""
    if replay.status is not ReplayStatus.OTHERWISE:
        return defect
    return replace(defect, title=f"{defect.title}; now {'; '.join(_summaries(replay))}")


def _summaries(replay: Replay) -> Iterator[str]:
    return (violation.summary for violation in replay.other_ways)

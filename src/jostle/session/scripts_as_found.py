"""While a campaign over frameworks runs: every new finding gets its script, and a smaller model as there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from jostle.errors import OutputRefused
from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.judging.disagreement import Symptom
from jostle.records import Finding
from jostle.session.finish_frameworks import REDUCING
from jostle.step_records import StepRecord
from jostle.storage.finding_record import FindingRecord
from jostle.storage.findings import FINDINGS, Recorded, finding_folders, read_record
from jostle.triage.deadline import Clock

# Of a campaign's time, what goes into smaller models while it runs; the rest of them is made when it is over.
SHARE = 0.2
SHORTEST = 2.0  # seconds for one search, in which most come to their end


class FinishesOne(Protocol):
    """Writes what a finding in frameworks is reported by."""

    @property
    def folder(self) -> Path:
        """Of the campaign."""

    def write_report(self, folder: Path, fault: Fault) -> None:
        """The report of a finding that was just made."""

    def finish_one(self, folder: Path, record: FindingRecord, stopped: Callable[[], bool], seconds: float) -> bool:
        """Makes a finding's model smaller for so many seconds; whether it came to its end."""


class ScriptsAsFound:
    """A listener for after the archive, so that a kill leaves every finding of earlier steps with a script.

    The script is that of the part which shows the defect. It is replaced when that part has become smaller, for which
    a share of the time is taken. A folder that is damaged is left to the end of the campaign, where it is told.
    """

    def __init__(
        self,
        finisher: FinishesOne,
        faults: Callable[[], Mapping[int, tuple[Fault, ...]]],
        written: Callable[[], None],
        over: Callable[[float], bool],
        clock: Clock = time.monotonic,
    ):
        """`faults` are those of the step's graphs by their number; `written` waits for what the archive writes.

        `over` tells whether the campaign is, when this takes so many seconds.
        """
        self._finisher, self._faults, self._written, self._over = finisher, faults, written, over
        self._clock = clock
        self._seen: set[Path] = set()
        self._waiting: list[Recorded] = []
        self._before: float | None = None  # seconds of the campaign, when this run of it began
        self._spent = 0.0

    def __call__(self, record: StepRecord) -> None:
        called = self._clock()
        if self._before is None:
            self._before = record.so_far.seconds
        if record.findings:
            self._write_scripts(record)
        self._reduce(SHARE * (record.so_far.seconds - self._before), lambda: self._over(self._clock() - called))

    def _reduce(self, share: float, over: Callable[[], bool]) -> None:
        """Makes models smaller as long as less than this share was spent on it."""
        while self._waiting and self._spent < share and not over():
            started = self._clock()
            seconds = min(max(share - self._spent, SHORTEST), REDUCING)
            with suppress(OutputRefused):
                self._finisher.finish_one(*self._waiting.pop(0), over, seconds)
            self._spent += self._clock() - started

    def _write_scripts(self, record: StepRecord) -> None:
        self._written()
        found = {(finding.violation.kind, finding.bug): finding for finding in record.findings}
        for place, saved in self._new():
            with suppress(OutputRefused):
                fault = self._fault(found.get(saved.identity), saved)
                if fault is not None:
                    self._finisher.write_report(place, fault)
                if saved.finished is None and saved.kind != Symptom.HANG:  # each model would be waited for in vain
                    self._waiting.append((place, saved))

    def _new(self) -> list[Recorded]:
        """Findings that were not there before, and can be read."""
        places = [one for one in finding_folders(self._finisher.folder / FINDINGS) if one not in self._seen]
        self._seen.update(places)
        new: list[Recorded] = []
        for place in places:
            with suppress(OSError, ValueError):
                new.append((place, read_record(place)))
        return new

    def _fault(self, finding: Finding | None, saved: FindingRecord) -> Fault | None:
        """What the step found of it; None for what an earlier run of the campaign found."""
        if finding is None:
            return None
        faults = self._faults().get(int(finding.row.inputs.flatten()[0]), ())
        return next((one for one in faults if one.signature.text == saved.graph_defect.signature), None)

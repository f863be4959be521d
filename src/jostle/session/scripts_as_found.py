"""While a campaign over frameworks runs: every new finding gets its script, and a smaller model as there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.judging.disagreement import Symptom
from jostle.records import Finding
from jostle.session.finish_frameworks import GraphFinisher
from jostle.step_records import StepRecord
from jostle.storage.finding_record import FindingRecord
from jostle.storage.findings import FINDINGS, finding_folders, read_record

# Of a campaign's time, what goes into smaller models while it runs; the rest of them is made when it is over.
SHARE = 0.2
SHORTEST = 2.0  # seconds for one search, in which most come to their end


class ScriptsAsFound:
    """A listener for after the archive, so that a kill leaves every finding of earlier steps with a script.

    The script is that of the part which shows the defect. It is replaced when that part has become smaller, for which
    a share of the time is taken.
    """

    def __init__(
        self,
        finisher: GraphFinisher,
        faults: Callable[[], Mapping[int, tuple[Fault, ...]]],
        written: Callable[[], None],
        stopping: Callable[[], bool],
    ):
        """`faults` are those of the step's graphs by their number; `written` waits for what the archive writes."""
        self._finisher, self._faults, self._written, self._stopping = finisher, faults, written, stopping
        self._seen: set[Path] = set()
        self._waiting: list[tuple[Path, FindingRecord]] = []
        self._spent = 0.0

    def __call__(self, record: StepRecord) -> None:
        if record.findings:
            self._write_scripts(record)
        started = time.monotonic()
        while self._waiting and not self._stopping():
            left = SHARE * record.so_far.seconds - self._spent - (time.monotonic() - started)
            if left <= 0:
                break
            self._finisher.finish_one(*self._waiting.pop(0), self._stopping, max(left, SHORTEST))
        self._spent += time.monotonic() - started

    def _write_scripts(self, record: StepRecord) -> None:
        self._written()
        found = {(finding.violation.kind, finding.bug): finding for finding in record.findings}
        for place in finding_folders(self._finisher.folder / FINDINGS):
            if place not in self._seen:
                self._seen.add(place)
                saved = read_record(place)
                fault = self._fault(found.get(saved.identity), saved)
                if fault is not None:
                    self._finisher.write_report(place, fault)
                if saved.finished is None and saved.kind != Symptom.HANG:  # each model would be waited for in vain
                    self._waiting.append((place, saved))

    def _fault(self, finding: Finding | None, saved: FindingRecord) -> Fault | None:
        """What the step found of it; None where another process did the step."""
        if finding is None:
            return None
        faults = self._faults().get(int(finding.row.inputs.flatten()[0]), ())
        return next((one for one in faults if one.signature.text == saved.graph_defect.signature), None)

"""Every finding in frameworks becomes a small model, a script that shows it, and the text of an issue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.frameworks.backends.program import TRAIN
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.graph import Graph, decode
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import FAILURES, Symptom
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.judging.locate import Unlocated
from jostle.frameworks.judging.signature import without_numbers
from jostle.frameworks.reduction.reduce import AT_ONCE, SameDefect, reduce
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.graph_signature import Signature, parse
from jostle.progress import Progress, quietly
from jostle.session.framework_reports import REDUCED, FrameworkReports
from jostle.session.script_run import ScriptRun, run_script
from jostle.storage.files import write_whole
from jostle.storage.finding_record import FindingRecord, FinishedGraph
from jostle.storage.findings import FINDINGS, SCRIPT, Recorded, SavedFinding, finish_finding, read_finding, recorded
from jostle.storage.graph_files import GraphFiles
from jostle.triage.deadline import never
from jostle.triage.words import counted
from jostle.untrusted.files import read_plain

GRAPH = "graph.json"
REDUCING = 30.0  # seconds for one finding
STARTING = 60.0  # seconds that importing a framework may take
AN_EXIT = "Exit_#"  # of a process, in a signature, which has no numbers and spaces


@dataclass(frozen=True)
class GraphFinisher:
    """Finishes the findings of one campaign over frameworks; those that were finished before are left alone."""

    folder: Path  # of the campaign
    backends: BackendPool
    examiner: Examiner  # of its own, which looks at what it is given whether or not that is known
    files: GraphFiles
    timeout: float  # seconds for one model on one backend

    def outlook(self) -> str:
        """What is about to be done, and how long the searches take at most; "" where nothing is left to do."""
        count = len(self._open())
        if not count:
            return ""
        return (
            f"{counted(count, 'finding')}: smaller models, searched for at most {count:,} × {REDUCING:g} s, and "
            f"scripts that reproduce them"
        )

    def finish(self, progress: Progress = quietly, stopped: Callable[[], bool] = never) -> int:
        """Works through all findings in the campaign's folder that are not finished yet; how many it came to."""
        open_ones = self._open()
        done = 0
        for some in progress(([one] for one in open_ones), len(open_ones)):
            if stopped():
                return done
            for place, record in some:
                done += self.finish_one(place, record, stopped)
        return done

    def finish_one(
        self, folder: Path, record: FindingRecord, stopped: Callable[[], bool] = never, seconds: float = REDUCING
    ) -> bool:
        """Makes one finding's model smaller, and writes its report; whether it came to that before it was stopped.

        With fewer seconds than a search may take, one that needs more is left where it is, for another call to go on.
        Nothing comes of a folder that was moved away.
        """
        if not folder.is_dir():
            return False
        finding = read_finding(folder, record)
        signature = _parsed(folder, record.graph_defect.signature)
        end = time.monotonic() + seconds
        self.examiner.ask_between_parts(stopped)

        def late() -> bool:
            return stopped() or time.monotonic() > end

        try:
            small = self._reduced(self._guilty_part(finding, signature), signature, late)
        except Unlocated:
            return False
        if stopped() or not folder.is_dir():
            return False
        files = {GRAPH: self._graph(finding).encoded, **self._reports.files(small, signature)}
        _write(folder, files)
        if late() and seconds < REDUCING:
            return False
        shown = (folder / SCRIPT).exists() and self._shows_again(finding, signature, stopped)
        if shown is None:
            return False
        finding = _with_known(finding, self._reports.known_as(small, signature))
        finish_finding(finding, FinishedGraph(shown, tuple(node.operator for node in small.nodes)))
        return True

    def write_report(self, folder: Path, fault: Fault) -> None:
        """The report of a finding that was just made, by the part that shows it."""
        _write(folder, self._reports.files(fault.part, fault.signature, fault.shown))

    @property
    def _reports(self) -> FrameworkReports:
        return FrameworkReports(self.backends, self.examiner.known)

    def _open(self) -> list[Recorded]:
        return [(place, record) for place, record in recorded(self.folder / FINDINGS) if record.finished is None]

    def _graph(self, finding: SavedFinding) -> Graph:
        return decode(self.files.read(int(finding.input.flatten()[0])))

    def _guilty_part(self, finding: SavedFinding, signature: Signature) -> Graph:
        """The part that was kept when it was found; else that of the graph, or all of it if it shows nothing now."""
        kept = finding.folder / REDUCED
        if kept.exists():
            try:
                return decode(read_plain(kept))
            except (OSError, ValueError) as error:
                raise OutputRefused(f"{kept} is damaged ({error}): move it away") from error
        graph, phase = self._graph(finding), finding.record.graph_defect.phase
        (observed,) = self.backends.run([graph], phase)
        found = judge(graph, phase, observed, REFERENCE_BOUNDS).alike(signature.symptom)
        parts = (fault.part for fault in self.examiner.faults(graph, found) if fault.signature == signature)
        return next(parts, graph if signature.phase == TRAIN else graph.without_training())

    def _reduced(self, graph: Graph, signature: Signature, late: Callable[[], bool]) -> Graph:
        """A smaller graph with the same defect, or the same if it does not show it alone."""
        same = SameDefect(signature, self.backends, REFERENCE_BOUNDS)
        if not same([graph])[0]:
            return graph
        at_once = 1 if signature.symptom in FAILURES else AT_ONCE  # each death costs the start of a framework
        return reduce(graph, same, REFERENCE_BOUNDS.evaluate, late, at_once)

    def _shows_again(self, finding: SavedFinding, signature: Signature, stopped: Callable[[], bool]) -> bool | None:
        """Whether the script shows the same in a process of its own; None if somebody asked to stop before."""
        interpreter = self.backends.place(signature.backend).interpreter
        call = [str(interpreter), "-P", str(finding.folder / SCRIPT)]
        run = run_script(call, self.timeout + STARTING, stopped)
        return None if run is None else shows(run, signature, finding.record.details.get("error"))


def shows(run: ScriptRun, signature: Signature, error: object) -> bool:
    """Whether a script ended as the signature says: by a wrong result, the same error, or not at all.

    `error` is the one that was seen; a signature tells no number, such as that of an exit code.
    """
    if run.code is None:
        return signature.symptom == Symptom.HANG
    if signature.symptom != Symptom.CRASH:
        return "AssertionError" in run.errors
    name = signature.frame.partition("@")[0]
    if name == AN_EXIT:
        return run.code > 0 and error == f"Exit {run.code}"
    return run.code < 0 or (run.code > 0 and name in without_numbers(run.errors))


def _with_known(finding: SavedFinding, known: KnownIssue | None) -> SavedFinding:
    """The same, and its record says as what it is known."""
    if known is None:
        return finding
    return replace(finding, record=replace(finding.record, details={**finding.record.details, "known": str(known)}))


def _parsed(folder: Path, signature: str) -> Signature:
    try:
        return parse(signature)
    except ValueError as error:
        raise OutputRefused(f"{folder} has a signature that is damaged ({error}): move the folder away") from error


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_whole(folder / name, content, synced=True)

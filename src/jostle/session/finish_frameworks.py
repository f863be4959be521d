"""When the budget is spent: every finding becomes a small model, a script that shows it, and the text of an issue."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.frameworks.backends.program import TRAIN
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.graph import Graph, decode, graph_as_json
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.eager_twin import eager_twin, witnesses
from jostle.frameworks.judging.known_issues import known_as
from jostle.frameworks.judging.locate import Unlocated
from jostle.frameworks.observations import REFERENCE, Status
from jostle.frameworks.reduction.reduce import SameDefect, reduce
from jostle.frameworks.reduction.script import issue_text, script
from jostle.frameworks.reduction.simplifications import plainly_named
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.graph_signature import Signature, parse
from jostle.progress import Progress, quietly
from jostle.storage.files import as_json as json_bytes
from jostle.storage.files import write_whole
from jostle.storage.finding_record import FindingRecord, FinishedGraph
from jostle.storage.findings import FINDINGS, ISSUE, SCRIPT, Recorded, finish_finding, read_finding, recorded
from jostle.storage.graph_files import GraphFiles
from jostle.triage.deadline import never
from jostle.triage.words import counted

REDUCING = 30.0  # seconds for one finding
STARTING = 60.0  # seconds that importing a framework may take


@dataclass(frozen=True)
class GraphFinisher:
    """Finishes the findings of one campaign over frameworks; those that were finished before are left alone."""

    folder: Path  # of the campaign
    backends: BackendPool
    examiner: Examiner
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
        self.examiner.ask_between_parts(stopped)
        for some in progress(([one] for one in open_ones), len(open_ones)):
            if stopped():
                return done
            for place, record in some:
                try:
                    self._finish(place, record)
                except Unlocated:  # somebody asked to stop
                    return done
                done += 1
        return done

    def _open(self) -> list[Recorded]:
        return [(place, record) for place, record in recorded(self.folder / FINDINGS) if record.finished is None]

    def _finish(self, folder: Path, record: FindingRecord) -> None:
        finding = read_finding(folder, record)
        graph = decode(self.files.read(int(finding.input.flatten()[0])))
        defect = record.graph_defect
        signature = _parsed(folder, defect.signature)
        part = self._guilty_part(graph, defect.phase, signature)
        small = plainly_named(self._reduced(part, signature))
        files = {
            "graph.json": graph.encoded,
            "reduced.json": json_bytes(graph_as_json(small)),
            **self._reproducer(small, signature),
        }
        for name, content in files.items():
            write_whole(folder / name, content, synced=True)
        shows = SCRIPT in files and self._shows_again(folder / SCRIPT, signature)
        finish_finding(finding, FinishedGraph(shows, tuple(node.operator for node in small.nodes)))

    def _guilty_part(self, graph: Graph, phase: str, signature: Signature) -> Graph:
        """The part of the graph that shows the defect, or all of it if it does not show it just now."""
        (observed,) = self.backends.run([graph], phase)
        found = judge(graph, phase, observed, REFERENCE_BOUNDS).alike(signature.symptom)
        parts = (fault.part for fault in self.examiner.faults(graph, found) if fault.signature == signature)
        return next(parts, graph if signature.phase == TRAIN else graph.without_training())

    def _reduced(self, graph: Graph, signature: Signature) -> Graph:
        """A smaller graph with the same defect, or the same if it does not show it alone."""
        same = SameDefect(signature, self.backends, REFERENCE_BOUNDS)
        if not same([graph])[0]:
            return graph
        return reduce(graph, same, REFERENCE_BOUNDS.evaluate, time.monotonic() + REDUCING)

    def _reproducer(self, graph: Graph, signature: Signature) -> Mapping[str, bytes]:
        """The script and the issue; none if the graph no longer shows anything."""
        backend, phase = signature.backend, signature.phase
        (observed,) = self.backends.run([graph], phase, witnesses(signature.symptom, backend))
        found = judge(graph, phase, observed, REFERENCE_BOUNDS).alike(signature.symptom)
        if not found:
            return {}
        seen = observed[backend].arrays if observed[backend].status is Status.OK else None
        lowering = self.backends.lowering(backend)
        judge_of_it = eager_twin(backend) if found[0].symptom is Symptom.COMPILED else REFERENCE
        expected = observed[judge_of_it or REFERENCE].arrays  # none where what ends a process has no meaning
        if found[0].tensor:
            expected = {found[0].tensor: expected[found[0].tensor]}
        text = script(graph, phase, lowering, expected, seen, eager=found[0].symptom is Symptom.COMPILED)
        known = known_as(signature, self.examiner.known)
        issue = issue_text(graph, found[0], signature.operator, self.backends.versions()[backend], text, known)
        return {SCRIPT: text.encode(), ISSUE: issue.encode()}

    def _shows_again(self, path: Path, signature: Signature) -> bool:
        """Whether the script shows the same in a process of its own: a wrong result, the same error, or no end."""
        interpreter = self.backends.place(signature.backend).interpreter
        call, patience = [interpreter, "-P", str(path)], self.timeout + STARTING
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return signature.symptom == Symptom.HANG
        if signature.symptom != Symptom.CRASH:
            return "AssertionError" in done.stderr
        error = signature.frame.partition("@")[0]
        return done.returncode < 0 or (done.returncode > 0 and error in done.stderr)


def _parsed(folder: Path, signature: str) -> Signature:
    try:
        return parse(signature)
    except ValueError as error:
        raise OutputRefused(f"{folder} has a signature that is damaged ({error}): move the folder away") from error

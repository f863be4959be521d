"""When the budget is spent: every finding becomes a small model, a script that shows it, and the text of an issue."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import TRAIN
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.graph import Graph, decode, graph_as_json
from jostle.frameworks.judging.compare import compare, judge
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.signature import Signature, parse
from jostle.frameworks.observations import REFERENCE, Status
from jostle.frameworks.reduction.plain_names import plainly_named
from jostle.frameworks.reduction.reduce import SameDefect, reduce
from jostle.frameworks.reduction.script import issue_text, script
from jostle.session.assemble_frameworks import Assembled
from jostle.storage.files import as_json as json_bytes
from jostle.storage.files import write_whole
from jostle.storage.findings import FINDINGS, add_to_finding, read_finding, recorded

Recorded = tuple[Path, dict[str, Any]]
# Shows how far work has come: (parts, how many findings in all) -> the same parts
Progress = Callable[[Iterable[list[Recorded]], int], Iterable[list[Recorded]]]
REDUCING = 30.0  # seconds for one finding
STARTING = 60.0  # seconds that importing a framework may take
FINISHED = "reproduced by its script"  # in a finding's record
SCRIPT, ISSUE = "reproduce.py", "issue.md"


def finish(assembled: Assembled, progress: Progress) -> None:
    """Works through all findings in the campaign's folder that are not finished yet."""
    findings = assembled.archive.folder / FINDINGS
    open_ones = [(place, told) for place, told in recorded(findings) if FINISHED not in told]
    for some in progress(([one] for one in open_ones), len(open_ones)):
        for place, told in some:
            _finish(assembled, place, told)


def _finish(assembled: Assembled, folder: Path, told: dict[str, Any]) -> None:
    finding = read_finding(folder, told)
    graph = decode(assembled.graph_files.read(int(finding.input.flatten()[0])))
    signature = parse(told["details"]["signature"])
    part = guilty_part(assembled, graph, told["details"]["phase"], signature)
    small = plainly_named(reduced(assembled, part, signature))
    files = {
        "graph.json": graph.encoded,
        "reduced.json": json_bytes(graph_as_json(small)),
        **_reproducer(assembled, small, signature),
    }
    for name, content in files.items():
        write_whole(folder / name, content, synced=True)
    shows = SCRIPT in files and _shows_again(assembled, folder / SCRIPT, signature)
    operators = [node.operator for node in small.nodes]
    add_to_finding(finding, {}, {FINISHED: shows, "operators": operators})


def guilty_part(assembled: Assembled, graph: Graph, phase: str, signature: Signature) -> Graph:
    """The part of the graph that shows the defect, or all of it if it does not show it just now."""
    (observed,) = assembled.panel.run([graph], phase)
    verdict = judge(graph, phase, observed, REFERENCE_BOUNDS)
    parts = (fault.part for fault in assembled.examiner.faults(graph, verdict) if fault.signature == signature)
    return next(parts, graph if signature.phase == TRAIN else graph.without_training())


def reduced(assembled: Assembled, graph: Graph, signature: Signature) -> Graph:
    """A smaller graph with the same defect, or the same if it does not show it alone."""
    same = SameDefect(signature, assembled.panel, REFERENCE_BOUNDS)
    if not same([graph])[0]:
        return graph
    return reduce(graph, same, REFERENCE_BOUNDS.evaluate, time.monotonic() + REDUCING)


def _reproducer(assembled: Assembled, graph: Graph, signature: Signature) -> Mapping[str, bytes]:
    """The script and the issue; none if the graph no longer shows anything."""
    backend, phase = signature.backend, signature.phase
    (observed,) = assembled.panel.run([graph], phase, [REFERENCE, backend])
    found = compare(graph, phase, observed, REFERENCE_BOUNDS)
    if not found:
        return {}
    seen = observed[backend].arrays if observed[backend].status is Status.OK else None
    lowering = lowering_named(assembled.panel.place(backend).backend)
    expected = observed[REFERENCE].arrays  # none where the result has no meaning, but its computation ends a process
    if found[0].tensor:
        expected = {found[0].tensor: expected[found[0].tensor]}
    text = script(graph, phase, lowering, expected, seen)
    issue = issue_text(graph, found[0], signature.operator, assembled.panel.versions()[backend], text)
    return {SCRIPT: text.encode(), ISSUE: issue.encode()}


def _shows_again(assembled: Assembled, path: Path, signature: Signature) -> bool:
    """Whether the script shows the same in a process of its own: a wrong result, the same error, or no end."""
    interpreter = assembled.panel.place(signature.backend).interpreter
    call, patience = [interpreter, "-P", str(path)], assembled.settings.timeout + STARTING
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return signature.symptom == Symptom.HANG
    if signature.symptom != Symptom.CRASH:
        return "AssertionError" in done.stderr
    error = signature.frame.partition("@")[0]
    return done.returncode < 0 or (done.returncode > 0 and error in done.stderr)

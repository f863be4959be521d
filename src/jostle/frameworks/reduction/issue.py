"""A finding as the text of an issue, in the words of the framework that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.eager_twin import eager_twin
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reduction.api_names import api_names
from jostle.graph_signature import NOTHING
from jostle.visible import plain

MOST_NAMES = 3  # in a title


@dataclass(frozen=True)
class Report:
    """All that an issue tells."""

    graph: Graph
    found: Disagreement
    operator: str  # or part of a training, by our name
    dtype: str
    program: str  # of the framework
    script: str
    versions: Mapping[str, str]
    surroundings: Sequence[str] = ()  # system, processor, threads
    others: Mapping[str, str] = field(default_factory=dict)  # what other backends make of the same, by name
    known: KnownIssue | None = None


def issue_text(report: Report) -> str:
    """What is seen, what is expected and why, and how to see it."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    versions = [f"{name} {version}" for name, version in report.versions.items()]
    yield from (f"# {title(report)}", "")
    if report.known is not None:
        yield from (f"known: {plain(str(report.known))}", "")
    yield from (f"**Versions:** {plain(', '.join([*versions, *report.surroundings]))}", "")
    yield from (f"**Seen:** {seen_text(report.found)}", "")
    yield f"**Expected:** {expected_text(report.found)}"
    for name in dict.fromkeys(node.operator for node in report.graph.nodes):
        yield f"- `{name}` is {OPERATORS[name].meaning}"
    yield ""
    if report.others:
        yield from ("**Others:**", *(f"- {plain(f'{name}: {said}')}" for name, said in report.others.items()), "")
    yield from ("```python", report.script.rstrip("\n"), "```", "")


WHAT = {
    Symptom.CRASH: "fails",
    Symptom.HANG: "does not return",
    Symptom.TYPE: "has another shape or dtype than it should",
    Symptom.NONFINITE: "is not finite where it should be, or the reverse",
    Symptom.VALUES: "computes wrong values",
    Symptom.GRADIENT: "has a wrong gradient",
    Symptom.TRAINING: "trains to wrong parameters",
    Symptom.COMPILED: "computes other values than eager mode",
    Symptom.UNSPECIFIED: "does with NaN or infinity what documentation leaves open",
}


def title(report: Report) -> str:
    """The framework, its functions, and what is wrong with them."""
    part, _, name = report.operator.partition(".")
    named = [f"{part} {name}"] if name else api_names(report.program)[:MOST_NAMES] or [report.operator]
    of = f" of {report.dtype}" if report.dtype != NOTHING else ""
    whose = (
        "" if all(one.startswith(f"{report.found.backend}.") for one in named) else f"{plain(report.found.backend)}: "
    )
    return f"{whose}{', '.join(named)}{of} {WHAT[report.found.symptom]}"


def seen_text(found: Disagreement) -> str:
    if found.crash is not None and found.crash.fatal:
        return f"the process ends with {plain(found.crash.error)}"
    if found.crash is not None:
        message = found.crash.message.strip().splitlines()
        return plain(f"{found.crash.error} in {found.crash.where}: {message[0] if message else ''}")
    if found.symptom is Symptom.HANG:
        return "the program does not end"
    return f"`{found.tensor}`{list(found.index) if found.index else ''} is {found.seen}"


def expected_text(found: Disagreement) -> str:
    if found.symptom in (Symptom.CRASH, Symptom.HANG):
        return "a result by the definition, and in any case a process that goes on:"
    if found.symptom is Symptom.COMPILED:
        return f"{found.expected}, as {plain(str(eager_twin(found.backend)))} computes it:"
    return f"{found.expected}, computed in float64 by the definition:"

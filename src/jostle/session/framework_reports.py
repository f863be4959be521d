"""The files by which a finding in frameworks is reported: its model, a script that shows it, the text of an issue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.graph import Graph, encode_readably
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import FAILURES, Disagreement, Symptom
from jostle.frameworks.judging.eager_twin import eager_twin, witnesses
from jostle.frameworks.judging.known_issues import KnownIssue, known_as
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.reduction.issue import Report, issue_text
from jostle.frameworks.reduction.reduce import signature_of_what_is_left
from jostle.frameworks.reduction.script import script
from jostle.frameworks.reduction.simplifications import plainly_named
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.graph_signature import Signature
from jostle.storage.environment import environment
from jostle.storage.findings import ISSUE, SCRIPT

REDUCED = "reduced.json"
OWN_THREADS = ("jax", "jax-eager", "pytensor")  # choose how many they compute with; workers give the others one
LETS_DIE = {"paddle": ["paddle.disable_signal_handler()  # which may sleep for ever"]}  # in scripts, by library


@dataclass(frozen=True)
class FrameworkReports:
    """Writes reports of what small models show on the backends of a campaign."""

    backends: BackendPool
    known: Sequence[KnownIssue]

    def files(self, small: Graph, signature: Signature, shown: Disagreement | None = None) -> dict[str, bytes]:
        """By name; no script and no issue if the model does not show anything.

        What a crash or hang `shown` before says is enough, so that no process need die of it again.
        """
        small = plainly_named(small)
        files = {REDUCED: encode_readably(small)}
        return files | self._reproducer(small, signature, shown)

    def known_as(self, small: Graph, signature: Signature) -> KnownIssue | None:
        """As what a finding is known, by what was seen first, or by what is left of that in its small model."""
        return known_as(signature, self.known) or known_as(signature_of_what_is_left(small, signature), self.known)

    def _reproducer(self, graph: Graph, signature: Signature, shown: Disagreement | None) -> dict[str, bytes]:
        backend, phase = signature.backend, signature.phase
        failed = shown is not None and shown.symptom in FAILURES
        needed = [REFERENCE] if failed else witnesses(signature.symptom, backend)
        (observed,) = self.backends.run([graph], phase, needed)
        found = shown
        if not failed:
            found = next(iter(judge(graph, phase, observed, REFERENCE_BOUNDS).alike(signature.symptom)), None)
        if found is None:
            return {}
        seen = observed[backend].arrays if not failed and observed[backend].status is Status.OK else None
        lowering = self.backends.lowering(backend)
        judge_of_it = eager_twin(backend) if found.symptom is Symptom.COMPILED else REFERENCE
        expected = observed[judge_of_it or REFERENCE].arrays  # none where what ends a process has no meaning
        if found.tensor:
            expected = {found.tensor: expected[found.tensor]}
        fatal = found.crash is not None and found.crash.fatal
        text = script(
            graph,
            phase,
            lowering,
            expected,
            seen,
            eager=found.symptom is Symptom.COMPILED,
            first=LETS_DIE.get(lowering.module, []) if fatal else [],
        )
        report = Report(
            graph=graph,
            found=found,
            operator=signature.operator,
            dtype=signature.dtype,
            program=lowering.program(graph, phase),
            script=text,
            versions=self.backends.versions()[backend],
            surroundings=_surroundings(backend),
            others={} if shown is not None else self._others(graph, signature, found),
            known=self.known_as(graph, signature),
        )
        return {SCRIPT: text.encode(), ISSUE: issue_text(report).encode()}

    def _others(self, graph: Graph, signature: Signature, found: Disagreement) -> dict[str, str]:
        """What the other backends make of it, in words."""
        others = [name for name in self.backends.names if name not in (REFERENCE, signature.backend)]
        if not others:
            return {}
        (observed,) = self.backends.run([graph], signature.phase, others)
        versions = self.backends.versions()
        return {
            " ".join([name, *list(versions[name].values())[:1]]): _in_words(one, found)
            for name, one in observed.items()
            if one.status is not Status.UNSUPPORTED
        }


def _in_words(one: Observation, found: Disagreement) -> str:
    """What a backend makes of the tensor in question, or that it fails."""
    if one.crash is not None:
        return f"fails with {one.crash.error}"
    if found.tensor not in one.arrays:
        return "returns a result" if one.status is Status.OK else str(one.status)
    array = one.arrays[found.tensor]
    if found.symptom is Symptom.TYPE:
        return f"{array.dtype.name} of shape {tuple(array.shape)}"
    return str(array[found.index]) if array.ndim == len(found.index) else f"another shape, {tuple(array.shape)}"


def _surroundings(backend: str) -> list[str]:
    """What a maintainer asks for besides versions."""
    told = environment()
    threads = [] if backend.partition("@")[0] in OWN_THREADS else ["1 thread"]
    return [str(told["platform"]), str(told["processor"]), *threads]

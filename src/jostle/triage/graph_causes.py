"""Which findings in frameworks have one cause: variants of dtype, phase, attributes and mode of one library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jostle.graph_signature import NOTHING, TOGETHER, Signature, parse
from jostle.storage.finding_record import FindingRecord, FinishedGraph
from jostle.triage.triaged_finding import TriagedFinding
from jostle.visible import plain

LONGEST = 60  # characters of a value


@dataclass(frozen=True)
class GraphCause:
    """What is equal of findings with one cause."""

    library: str
    symptom: str
    operator: str
    frame: str

    def __str__(self) -> str:
        return " ".join(one for one in (self.library, self.symptom, self.operator, self.frame) if one != NOTHING)


def graph_cause(record: FindingRecord) -> GraphCause | None:
    """The cause of a finding, as far as its record tells; None where its signature is none.

    Where several operators are guilty together, those count that are left of them in the reduced model.
    """
    signature = signature_in(record)
    if signature is None:
        return None
    operator, finished = signature.operator, record.finished
    if TOGETHER in operator and isinstance(finished, FinishedGraph) and finished.reproduced:
        operator = TOGETHER.join(sorted(set(finished.operators)))
    return GraphCause(signature.library, signature.symptom, operator, signature.frame)


def signature_in(record: FindingRecord) -> Signature | None:
    try:
        return parse(record.graph_defect.signature)
    except ValueError:
        return None


def variants_table(findings: Sequence[TriagedFinding]) -> list[str]:
    """A table in Markdown of all that one cause was seen as; none where it was seen as one thing only."""
    rows = list(dict.fromkeys(row for finding in findings for row in _row(finding.record)))
    if len(rows) < 2:
        return []
    heading = "| backend | phase | dtype | attributes | seen | expected |"
    return ["## Variants", "", heading, "|---|---|---|---|---|---|", *rows, ""]


def variants_in_words(findings: Sequence[TriagedFinding]) -> str:
    """The same in a sentence."""
    signatures = [one for finding in findings if (one := signature_in(finding.record)) is not None]
    seen = dict.fromkeys(replace(one, frame=NOTHING, operator=NOTHING, symptom=NOTHING) for one in signatures)
    told = [" ".join(word for word in one.text.split() if word != NOTHING) for one in seen]
    return f"Seen as {len(told)} variants: {'; '.join(told)}." if len(told) > 1 else ""


def _row(record: FindingRecord) -> Iterator[str]:
    signature = signature_in(record)
    if signature is not None:
        seen, expected = (record.details.get(name) for name in ("seen", "expected"))
        words = signature.backend, signature.phase, signature.dtype, signature.attributes, seen, expected
        yield f"| {' | '.join(map(_cell, words))} |"


def _cell(value: object) -> str:
    return plain(str(value or "")[:LONGEST]) or NOTHING

"""The journal: one line per step, each with a checksum; a step counts once its line is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jostle.lineage import Mutation
from jostle.step_records import OwnStep, PastStep, StepRecord
from jostle.storage.checksums import with_checksum, without_checksum
from jostle.storage.entries import digest_of_entries
from jostle.storage.failing_files import digest_of_failing
from jostle.storage.files import read_growing
from jostle.storage.json_fields import counts, text, texts, whole
from jostle.untrusted.json_text import parsed_json

JOURNAL = "journal.jsonl"
REPAIR = "let the jostle fuzz command that wrote it go on, which mends it"


@dataclass(frozen=True)
class JournalLine:
    """Everything about a step that the seed determines, and nothing else."""

    step: int
    planned: int  # inputs asked for
    executions: int  # so far
    kept: int  # entries
    digest: str  # of what it kept, "" if that is nothing
    findings: tuple[str, ...]  # fingerprints
    found_by: tuple[str, ...]  # the mutation that made each finding
    flaky: tuple[str, ...]  # fingerprints
    violations: Mapping[str, int]  # violating inputs by kind
    unconfirmed: Mapping[str, int]  # inputs by kind that violate no more when saved
    failing: int = 0  # failing tests that were kept
    failing_digest: str = ""  # of those, "" if there are none
    by: OwnStep | None = None  # which worker did it, where there were several

    @property
    def failed(self) -> int:
        """Failing tests that the step met, kept or not."""
        return sum(self.violations.values()) + sum(self.unconfirmed.values())

    def past_step(self, lost: bool, failing_lost: bool) -> PastStep:
        """The step as a campaign that goes on needs it.

        It is `lost` if what it kept can be read no more, and `failing_lost` if its failing tests can not.
        """
        return PastStep(
            step=self.step,
            executions=self.executions,
            planned=self.planned,
            kept=self.kept,
            found=tuple(map(Mutation.parsed, self.found_by)),
            digest=self.digest,
            lost=lost,
            failing=self.failing,
            failing_digest=self.failing_digest,
            failing_lost=failing_lost,
            by=self.by,
        )


def journal_line(record: StepRecord) -> JournalLine:
    """What the journal says of a step."""
    return JournalLine(
        step=record.step,
        planned=record.planned,
        executions=record.so_far.executions,
        kept=len(record.kept),
        digest=digest_of_entries(record.kept) if len(record.kept) else "",
        findings=tuple(finding.violation.fingerprint for finding in record.findings),
        found_by=tuple(str(finding.row.mutations[0]) for finding in record.findings),
        flaky=tuple(finding.violation.fingerprint for finding in record.flaky),
        violations=dict(record.violations),
        unconfirmed=dict(record.unconfirmed),
        failing=len(record.failing),
        failing_digest=digest_of_failing(record.failing) if len(record.failing) else "",
        by=record.by,
    )


def encode_line(line: JournalLine) -> bytes:
    content = {
        "step": line.step,
        "planned": line.planned,
        "executions": line.executions,
        "kept": line.kept,
        "digest": line.digest,
        "findings": list(line.findings),
        "found by": list(line.found_by),
        "flaky": list(line.flaky),
        "violations": dict(line.violations),
        "unconfirmed": dict(line.unconfirmed),
        "failing": line.failing,
        "failing digest": line.failing_digest,
        **({} if line.by is None else {"worker": line.by.worker, "own step": line.by.step}),
    }
    return (json.dumps(with_checksum(content)) + "\n").encode()


def decode_line(raw: bytes) -> JournalLine:
    """The inverse of `encode_line`; ValueError for bytes that it never gave."""
    content = without_checksum(parsed_json(raw))
    return JournalLine(
        step=whole(content, "step"),
        planned=whole(content, "planned"),
        executions=whole(content, "executions"),
        kept=whole(content, "kept"),
        digest=text(content, "digest"),
        findings=texts(content, "findings"),
        found_by=texts(content, "found by"),
        flaky=texts(content, "flaky"),
        violations=counts(content, "violations"),
        unconfirmed=counts(content, "unconfirmed"),
        failing=whole(content, "failing") if "failing" in content else 0,  # lines of before have none
        failing_digest=text(content, "failing digest") if "failing digest" in content else "",
        by=OwnStep(whole(content, "worker"), whole(content, "own step")) if "worker" in content else None,
    )


@dataclass(frozen=True)
class Journal:
    """What can be believed of a journal, and how many bytes that is."""

    lines: tuple[JournalLine, ...]
    sound: int  # bytes up to the first line that is damaged or cut off
    whole: int  # bytes up to the end of the last line
    size: int  # bytes in all

    @property
    def damaged(self) -> bool:
        return self.sound < self.whole


def read_journal(path: Path) -> Journal:
    """The lines up to the first that is not as it was written; what follows the last line's end is unfinished."""
    content = read_growing(path, "bring it back")
    end = content.rfind(b"\n") + 1
    lines: list[JournalLine] = []
    sound = 0
    for raw in content[:end].splitlines(keepends=True):
        line = _line_of_step(raw, len(lines))
        if line is None:
            break
        lines.append(line)
        sound += len(raw)
    return Journal(tuple(lines), sound, end, len(content))


def _line_of_step(raw: bytes, step: int) -> JournalLine | None:
    """The line of this step, None if that is not what stands there."""
    try:
        line = decode_line(raw)
    except ValueError:
        return None
    return line if line.step == step else None

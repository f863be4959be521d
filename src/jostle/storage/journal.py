"""The journal: one line per step, each with a checksum; a step counts once its line is there."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.records import StepRecord
from jostle.storage.checksums import sealed, unsealed
from jostle.storage.entries import digest_of_entries
from jostle.storage.files import parsed_json

JOURNAL = "journal.jsonl"


def journal_line(record: StepRecord) -> dict[str, Any]:
    """Everything about a step that the seed determines, and nothing else."""
    return {
        "step": record.step,
        "planned": record.planned,
        "executions": record.so_far.executions,
        "kept": len(record.kept),
        "digest": digest_of_entries(record.kept) if len(record.kept) else "",
        "findings": [finding.violation.fingerprint for finding in record.findings],
        "found by": [str(finding.row.mutations[0]) for finding in record.findings],
        "flaky": [finding.violation.fingerprint for finding in record.flaky],
        "violations": dict(record.violations),
        "unconfirmed": dict(record.unconfirmed),
    }


def encoded(line: dict[str, Any]) -> bytes:
    return (json.dumps(sealed(line)) + "\n").encode()


@dataclass(frozen=True)
class Journal:
    """What can be believed of a journal, and how many bytes that is."""

    lines: tuple[dict[str, Any], ...]
    sound: int  # bytes up to the first line that is damaged or cut off
    whole: int  # bytes up to the end of the last line
    size: int  # bytes in all

    @property
    def damaged(self) -> bool:
        return self.sound < self.whole


def read_journal(path: Path) -> Journal:
    """The lines up to the first that is not as it was written; what follows the last line's end is unfinished."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    lines: list[dict[str, Any]] = []
    sound = 0
    for raw in content[:whole].splitlines(keepends=True):
        line = _line(raw, len(lines))
        if line is None:
            break
        lines.append(line)
        sound += len(raw)
    return Journal(tuple(lines), sound, whole, len(content))


def _line(raw: bytes, step: int) -> dict[str, Any] | None:
    """The line of this step, None if that is not what stands there."""
    try:
        told = unsealed(parsed_json(raw))
        numbers = {name: int(told[name]) for name in ("step", "planned", "executions", "kept")}
        counts = {name: Counter(told[name]) for name in ("violations", "unconfirmed")}
        names = {name: [str(one) for one in told[name]] for name in ("findings", "found by", "flaky")}
        line = {**told, **numbers, **counts, **names, "digest": str(told["digest"])}
        return line if line["step"] == step else None
    except (ValueError, KeyError, TypeError, OverflowError):
        return None

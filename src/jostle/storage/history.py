"""Where an earlier run of a campaign stopped, read from its folder."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from jostle.errors import OutputRefused
from jostle.records import History, Seeds
from jostle.storage.entries import decode_entries


def read_history(folder: Path, seeds: Seeds) -> History | None:
    """What the journal in this folder says, None if no step was finished; unfinished work is removed."""
    lines = list(_whole_lines(folder / "journal.jsonl"))
    bugs = _recorded_bugs(folder, lines[-1]["step"] if lines else -1)
    if not lines:
        return None
    last = lines[-1]
    kept = [line["step"] for line in lines if line["kept"]]
    try:
        entries = tuple(decode_entries(folder / "corpus" / f"{step:08}.safetensors", seeds) for step in kept)
    except (OSError, SafetensorError, KeyError) as error:
        raise OutputRefused(f"the corpus in {folder} is damaged ({error}): give another --out") from error
    status = folder / "status.json"
    return History(
        step=last["step"],
        executions=last["executions"],
        seconds=json.loads(status.read_text())["seconds"] if status.exists() else 0.0,
        kept=entries,
        bugs=frozenset(bugs),
        findings=Counter(kind for kind, _ in bugs),
        violations=sum((Counter(line["violations"]) for line in lines), Counter()),
    )


def _whole_lines(journal: Path) -> Iterator[dict[str, Any]]:
    """The journal's lines; a last one that a crash cut off is removed."""
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(journal, len(whole))  # in place, because the archive has it open
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise OutputRefused(f"line {number} of {journal} is damaged ({error}): give another --out") from error


def _recorded_bugs(folder: Path, last_step: int) -> list[tuple[str, int]]:
    """The bugs on record; a finding of a step that was not finished will be found again, so it goes."""
    bugs: list[tuple[str, int]] = []
    for finding in sorted((folder / "findings").iterdir()):
        record = finding / "finding.json"
        told: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {"step": last_step + 1}
        if told["step"] > last_step:
            shutil.rmtree(finding)
        else:
            bugs.append((told["kind"], told["bug"]))
    return bugs

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
from jostle.records import Candidates, History, PastStep, Seeds, all_rows
from jostle.storage.entries import decode_entries
from jostle.storage.findings import finding_folders, recorded


def read_history(folder: Path, seeds: Seeds) -> History | None:
    """What the journal in this folder says, None if no step was finished; unfinished work is removed."""
    lines = list(_whole_lines(folder / "journal.jsonl"))
    _remove_unfinished(folder)
    if not lines:
        return None
    last = lines[-1]
    # A finding of a step that was cut off is not known yet: the step is done again and finds it again.
    bugs = [(told["kind"], told["bug"]) for _, told in recorded(folder / "findings") if told["step"] <= last["step"]]
    return History(
        steps=tuple(_past_step(line) for line in lines),
        seconds=_seconds(folder / "status.json"),
        kept=_kept(folder, [line["step"] for line in lines if line["kept"]], seeds),
        bugs=frozenset(bugs),
        findings=Counter(kind for kind, _ in bugs),
        violations=sum((line["violations"] for line in lines), Counter()),
        unconfirmed=sum((line["unconfirmed"] for line in lines), Counter()),
    )


def _past_step(line: dict[str, Any]) -> PastStep:
    return PastStep(line["step"], line["executions"], line["planned"], line["kept"], tuple(line["found by"]))


def read_kept(folder: Path, seeds: Seeds) -> Candidates:
    """What the campaign in this folder has kept so far; changes nothing, so the campaign may be running."""
    try:
        content = (folder / "journal.jsonl").read_bytes()
    except OSError as error:
        raise OutputRefused(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to") from error
    whole = content[: content.rfind(b"\n") + 1]
    return _kept(folder, [line["step"] for line in _parsed(folder / "journal.jsonl", whole) if line["kept"]], seeds)


def _kept(folder: Path, steps: list[int], seeds: Seeds) -> Candidates:
    try:
        parts = [decode_entries(folder / "corpus" / f"{step:08}.safetensors", seeds) for step in steps]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise OutputRefused(f"the corpus in {folder} is damaged ({error}): give another --out") from error
    return Candidates.joined([seeds.as_candidates().select(all_rows(0)), *parts])


def _seconds(status: Path) -> float:
    """Time spent so far as last written; a status that cannot be read costs no more than that figure."""
    try:
        return float(json.loads(status.read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _remove_unfinished(folder: Path) -> None:
    """Finding folders without a record, and files that were being written when the process died."""
    for finding in finding_folders(folder / "findings"):
        if not (finding / "finding.json").exists():
            shutil.rmtree(finding)
    for left in folder.rglob(".*.tmp"):
        left.unlink()


def _whole_lines(journal: Path) -> Iterator[dict[str, Any]]:
    """The journal's lines; a last one that a crash cut off is removed."""
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(journal, len(whole))  # in place, because the archive has it open
    return _parsed(journal, whole)


def _parsed(journal: Path, whole: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            told = json.loads(line)
            numbers = {name: int(told[name]) for name in ("step", "planned", "executions", "kept")}
            counts = {name: Counter(told[name]) for name in ("violations", "unconfirmed")}
            yield {**told, **numbers, **counts, "found by": list(map(str, told["found by"]))}
        except (ValueError, KeyError, TypeError) as error:
            raise OutputRefused(f"line {number} of {journal} is damaged ({error}): give another --out") from error

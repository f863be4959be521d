"""A campaign as a folder that a person can look into.

config.json                     the resolved configuration
journal.jsonl                   one line per step; a step counts once its line is there
corpus/00000012.safetensors     what step 12 kept: inputs and lineage
findings/0001-nan-…/            the first input that showed a bug: finding.json, arrays, picture
status.json                     totals so far
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.records import Candidates, Finding, History, Seeds, StepRecord
from jostle.storage.files import temporary, write_json, write_whole
from jostle.storage.pictures import picture_of

SECONDS_BETWEEN_STATUS = 5.0


class Archive:
    """Writes every step to a campaign folder before the next one is planned."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._journal = (folder / "journal.jsonl").open("a", encoding="utf-8")
        self._found = max((_number(finding) for finding in (folder / "findings").iterdir()), default=0)
        self._status_at = 0.0

    def __call__(self, record: StepRecord) -> None:
        for finding in record.findings:
            self._found += 1
            write_finding(self.folder / "findings", self._found, finding)
        if len(record.kept):
            write_whole(self.folder / "corpus" / f"{record.step:08}.safetensors", encode_entries(record.kept))
        self._journal.write(json.dumps(journal_line(record)) + "\n")
        self._journal.flush()
        if record.seconds - self._status_at > SECONDS_BETWEEN_STATUS:
            self.write_status(record.seconds)

    def write_status(self, seconds: float) -> None:
        self._status_at = seconds
        write_json(self.folder / "status.json", {"seconds": seconds})


def open_archive(folder: Path, config: Mapping[str, Any]) -> Archive:
    """The archive in this folder, new or of the same configuration; another configuration's is refused."""
    try:
        existing = folder / "config.json"
        if existing.exists():
            _check_same(folder, json.loads(existing.read_text()), dict(config))
        elif folder.exists() and any(path != temporary(existing) for path in folder.iterdir()):
            raise OutputRefused(f"{folder} is not empty and holds no campaign: give another --out")
        folder.mkdir(parents=True, exist_ok=True)
        if not existing.exists():
            write_json(existing, config)  # first, so that whenever we die, the folder can be told for ours
        for part in ("corpus", "findings"):
            (folder / part).mkdir(exist_ok=True)
        return Archive(folder)
    except (OSError, json.JSONDecodeError) as error:
        raise OutputRefused(f"cannot use the output folder {folder}: {error}; give another --out") from error


def _number(finding: Path) -> int:
    """The number in a finding's name, such as 0012-nan-…; 0 for what is no finding."""
    number = finding.name.partition("-")[0]
    return int(number) if number.isdigit() else 0


def _check_same(folder: Path, old: Any, new: dict[str, Any]) -> None:
    if not isinstance(old, dict):
        raise OutputRefused(f"{folder} holds a config.json that is not of a campaign: give another --out")
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    if changed:
        raise OutputRefused(
            f"{folder} holds a campaign with another {', '.join(changed)}: give another --out, or the settings in "
            f"its config.json to go on with it"
        )


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


def journal_line(record: StepRecord) -> dict[str, Any]:
    """Everything about a step that the seed determines, and nothing else."""
    return {
        "step": record.step,
        "executions": record.executions,
        "kept": len(record.kept),
        "digest": digest(record.kept.inputs) if len(record.kept) else "",
        "findings": [finding.violation.fingerprint for finding in record.findings],
        "violations": dict(record.violations),
    }


def digest(inputs: Tensor) -> str:
    return hashlib.blake2b(inputs.contiguous().numpy().tobytes(), digest_size=8).hexdigest()


def encode_entries(kept: Candidates) -> bytes:
    arrays = {"inputs": kept.inputs.contiguous(), "parents": kept.parents, "roots": kept.roots}
    return safetensors.torch.save(arrays, {"steps": json.dumps(kept.steps)})


def decode_entries(path: Path, seeds: Seeds) -> Candidates:
    with safe_open(path, "pt") as file:
        inputs, parents, roots = (file.get_tensor(name) for name in ("inputs", "parents", "roots"))
        steps = tuple(json.loads(file.metadata()["steps"]))
    return Candidates(inputs, seeds.inputs[roots], parents, roots, seeds.labels[roots], steps)


def write_finding(findings: Path, number: int, finding: Finding) -> None:
    """One folder per bug; its record is written last, so a folder with a record is whole."""
    violation, row = finding.violation, finding.row
    name = re.sub(r"[^A-Za-z0-9]+", "-", violation.fingerprint).strip("-")[:60]
    folder = findings / f"{number:04}-{name}"
    folder.mkdir(exist_ok=True)
    input, reference = row.inputs[0], row.references[0]
    np.save(folder / "input.npy", input.numpy())
    np.save(folder / "reference.npy", reference.numpy())
    picture = picture_of(input, reference)
    if picture is not None:
        picture.save(folder / "picture.png")
    write_json(
        folder / "finding.json",
        {
            "kind": violation.kind,
            "summary": violation.summary,
            "fingerprint": violation.fingerprint,
            "bug": finding.bug,
            "step": finding.step,
            "execution": finding.execution,
            "root": int(row.roots[0]),
            "parent": int(row.parents[0]),
            "mutation": row.steps[0],
            "largest change": float((input - reference).abs().max()),
            "details": dict(violation.details),
        },
    )

"""A campaign as a folder that a person can look into.

config.json                     the resolved configuration
journal.jsonl                   one line per step; a step counts once its line is there
corpus/00000012.safetensors     what step 12 kept: inputs and lineage
findings/0001-nan-…/            the first input that showed a bug: finding.json, arrays, in the end a picture
profile.safetensors             neuron ranges, where a criterion measures against them
status.json                     the time spent so far
lock                            held while a process works in the folder
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jostle.errors import JostleError, OutputRefused
from jostle.records import Finding, StepRecord
from jostle.storage.entries import digest_of, encode_entries
from jostle.storage.files import temporary, write_json, write_whole
from jostle.storage.findings import draw_pictures, finding_folders, folder_name, number_of, recorded, write_finding

SECONDS_BETWEEN_STATUS = 5.0


class Archive:
    """Writes every step to a campaign folder before the next one is planned."""

    def __init__(self, folder: Path, lock: FileLock):
        self.folder = folder
        self._lock = lock
        self._journal = (folder / "journal.jsonl").open("a", encoding="utf-8")
        findings = folder / "findings"
        # A finding whose step was cut off is found again in the same folder; were it not, it would still be there.
        self._places = {(told["kind"], told["bug"]): place for place, told in recorded(findings)}
        self._numbers = count(1 + max(map(number_of, finding_folders(findings)), default=0))
        self._status_at = 0.0

    def __call__(self, record: StepRecord) -> None:
        try:
            self._write(record)
        except OSError as error:
            raise JostleError(f"cannot write to {self.folder}: {error}; all that was found before is safe") from error

    def _write(self, record: StepRecord) -> None:
        for finding in record.findings:
            write_finding(self._place(finding), finding)
        if record.findings:
            os.sync()  # one for all, because a step may find hundreds
        if len(record.kept):
            write_whole(self.folder / "corpus" / f"{record.step:08}.safetensors", encode_entries(record.kept))
        self._journal.write(json.dumps(journal_line(record)) + "\n")
        self._journal.flush()
        if record.seconds - self._status_at > SECONDS_BETWEEN_STATUS:
            self.write_status(record.seconds)

    def _place(self, finding: Finding) -> Path:
        bug = (finding.violation.kind, finding.bug)
        if bug not in self._places:
            self._places[bug] = self.folder / "findings" / folder_name(next(self._numbers), finding)
        return self._places[bug]

    def close(self) -> None:
        """Draws the pictures, and lets another process go on with the campaign; the end of this one does that too."""
        self._journal.close()
        try:
            draw_pictures(self.folder / "findings")
        except (OSError, ValueError) as error:
            raise JostleError(
                f"cannot draw the pictures of {self.folder}: {error}; all that was found is safe"
            ) from error
        finally:
            self._lock.release()

    def write_status(self, seconds: float) -> None:
        self._status_at = seconds
        write_json(self.folder / "status.json", {"seconds": seconds})


def open_archive(folder: Path, identity: Mapping[str, Any], unbound: Mapping[str, Any] | None = None) -> Archive:
    """The archive in this folder, new or of the same identity; another campaign's is refused.

    The configuration is saved whole: what makes the campaign this campaign, and what may change from run to run.
    """
    config, unbound = folder / "config.json", unbound or {}
    check_folder(folder, identity, unbound)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
        write_json(config, {**identity, **unbound})  # before all else, so that the folder can be told for ours
        for part in ("corpus", "findings"):
            (folder / part).mkdir(exist_ok=True)
        return Archive(folder, lock)
    except Timeout as error:
        raise OutputRefused(f"another process is at work in {folder}: wait for it or give another --out") from error
    except (OSError, json.JSONDecodeError) as error:
        raise OutputRefused(f"cannot use the output folder {folder}: {error}; give another --out") from error


def check_folder(folder: Path, identity: Mapping[str, Any], unbound: Mapping[str, Any]) -> None:
    """Refuses a folder that holds anything but this campaign; touches nothing."""
    config = folder / "config.json"
    try:
        if config.exists():
            _check_same(folder, json.loads(config.read_text()), dict(identity), unbound.keys())
        elif folder.exists() and any(path.name not in ("lock", temporary(config).name) for path in folder.iterdir()):
            raise OutputRefused(f"{folder} is not empty and holds no campaign: give another --out")
    except (OSError, json.JSONDecodeError) as error:
        raise OutputRefused(f"cannot use the output folder {folder}: {error}; give another --out") from error


def _check_same(folder: Path, old: Any, new: dict[str, Any], unbound: Collection[str]) -> None:
    if not isinstance(old, dict):
        raise OutputRefused(f"{folder} holds a config.json that is not of a campaign: give another --out")
    names = (old.keys() | new.keys()) - set(unbound)
    changed = sorted(name for name in names if old.get(name) != new.get(name))
    if changed:
        raise OutputRefused(
            f"{folder} holds another campaign (changed: {', '.join(changed)}): give another --out, or none to have "
            f"a folder named after the settings"
        )


def journal_line(record: StepRecord) -> dict[str, Any]:
    """Everything about a step that the seed determines, and nothing else."""
    return {
        "step": record.step,
        "planned": record.planned,
        "executions": record.executions,
        "kept": len(record.kept),
        "digest": digest_of(record.kept.inputs) if len(record.kept) else "",
        "findings": [finding.violation.fingerprint for finding in record.findings],
        "found by": [finding.row.steps[0] for finding in record.findings],
        "violations": dict(record.violations),
        "unconfirmed": dict(record.unconfirmed),
    }

"""A campaign as a folder that a person can look into.

config.json                     the resolved configuration, and the format of the folder
environment.json                versions and machine that it was begun with
journal.jsonl                   one line per step, with a checksum; a step counts once its line is there
corpus/00000012.safetensors     what step 12 kept: inputs and lineage
findings/0001-nan-…/            the first input that showed a bug: finding.json, arrays, in the end a picture
flaky/0001-flip-…/              the same of bugs that did not show again when their input ran alone
findings.log                    what was found and is not synced in its own folder yet; empty after a clean end
profile.safetensors             neuron ranges, where a criterion measures against them
status.json                     statistics, and when they were written
quarantine/                     what was found damaged when the campaign went on
lock                            held while a process works in the folder
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jostle.errors import OutputRefused
from jostle.records import Candidates, Finding, PastStep, StepRecord, Summary
from jostle.storage.background_writer import BackgroundWriter
from jostle.storage.entries import digest_of_entries, encode_entries
from jostle.storage.environment import ENVIRONMENT, changes_since, environment
from jostle.storage.files import Appended, make_folder, sync_folders, usable, write_json, write_whole
from jostle.storage.findings import (
    FINDINGS,
    FLAKY,
    draw_pictures,
    encode_findings,
    finding_folders,
    folder_name,
    folders_in,
    number_of,
    recorded,
    write_files,
)
from jostle.storage.journal import JOURNAL, encoded, journal_line, read_journal
from jostle.storage.ownership import CONFIG, FORMAT, FORMAT_NAME, check_folder
from jostle.storage.quarantine import QUARANTINE, Quarantine
from jostle.storage.repair import CORPUS, entries_path, mend_findings
from jostle.storage.status import STATUS, write_status
from jostle.storage.write_ahead_log import WriteAheadLog

SECONDS_BETWEEN_STATUS = 1.0
PATIENCE = 0.5  # seconds for the lock, because somebody may just be looking whether it is held


class Archive:
    """Writes every step to a campaign folder: what it found is safe before the next one is planned, the rest soon."""

    def __init__(self, folder: Path, lock: FileLock, quarantine: Quarantine):
        self.folder = folder
        self.quarantine = quarantine
        self._written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())  # bytes
        self._logged = 0  # bytes
        self._lock = lock
        self._behind = BackgroundWriter()
        self._journal = Appended(folder / JOURNAL)
        self._safeguard = WriteAheadLog(folder)
        self._rooms = {name: Room(folder / name) for name in (FINDINGS, FLAKY)}
        self._unsynced: list[Path] = []
        self._status_at = -SECONDS_BETWEEN_STATUS  # long ago

    @property
    def used(self) -> int:
        """Bytes in the folder so far."""
        return self._written + self._logged

    def __call__(self, record: StepRecord) -> None:
        found = {self._place(finding): finding for finding in (*record.findings, *record.flaky)}
        block = encode_findings(found) if found else None
        if block is not None:
            self._logged += self._safeguard.add(block)
        self._behind.do(partial(self._write, record, block))

    def _write(self, record: StepRecord, block: bytes | None) -> None:
        for place, files in (folders_in(block) if block is not None else {}).items():
            self._unsynced.append(self.folder / place)
            self._written += write_files(self.folder / place, files)
        if len(record.kept):
            self._written += write_whole(entries_path(self.folder, record.step), encode_entries(record.kept))
        self._written += self._journal.append(encoded(journal_line(record)))
        if time.monotonic() - self._status_at > SECONDS_BETWEEN_STATUS:
            self._status_at = time.monotonic()
            write_status(self.folder, record.so_far, synced=False)

    def _place(self, finding: Finding) -> str:
        """Of its folder, within the campaign's."""
        place = self._rooms[FINDINGS if finding.alone else FLAKY].place(finding)
        return place.relative_to(self.folder).as_posix()

    def mend(self, past: PastStep, kept: Candidates) -> None:
        """Takes what came of a step that was done again, because what it kept had been lost."""
        if len(kept):
            self._written += write_whole(entries_path(self.folder, past.step), encode_entries(kept))
        told = {"kept": len(kept), "digest": digest_of_entries(kept) if len(kept) else ""}
        if told["digest"] != past.digest:
            self.quarantine.warn(
                f"step {past.step} came out otherwise when it was done again, so the model does not always do the "
                f"same: the campaign goes on with what came out"
            )
            self._rewrite(past.step, told)

    def _rewrite(self, step: int, told: Mapping[str, Any]) -> None:
        """Corrects the journal's line of a step."""
        lines = list(read_journal(self.folder / JOURNAL).lines)
        lines[step] |= told
        write_whole(self.folder / JOURNAL, b"".join(map(encoded, lines)), synced=True)
        self._journal.close()
        self._journal = Appended(self.folder / JOURNAL)

    def conclude(self, summary: Summary) -> None:
        """Writes the last statistics of a run, and makes all it found durable where it stands."""
        self._behind.wait()
        write_status(self.folder, summary, synced=True)
        sync_folders(self._unsynced)
        self._unsynced.clear()
        self._safeguard.clear()
        self._logged = 0

    def close(self) -> None:
        """Draws the pictures, and lets another process go on with the campaign."""
        try:
            self._behind.wait()
            for name in self._rooms:
                draw_pictures(self.folder / name)
        finally:
            self.release()

    def release(self) -> None:
        """Lets another process go on with the campaign; the end of this one does that too."""
        self._behind.close()
        self._journal.close()
        self._safeguard.close()
        self._lock.release()


class Room:
    """Folders of findings, each of which keeps its place."""

    def __init__(self, folder: Path):
        self._folder = folder
        # A finding whose step was cut off is found again in the same folder; were it not, it would still be there.
        self._places = {(told["kind"], told["bug"]): place for place, told in recorded(folder)}
        self._numbers = count(1 + max(map(number_of, finding_folders(folder)), default=0))

    def place(self, finding: Finding) -> Path:
        bug = (finding.violation.kind, finding.bug)
        if bug not in self._places:
            self._places[bug] = self._folder / folder_name(next(self._numbers), finding)
        return self._places[bug]


def open_archive(folder: Path, identity: Mapping[str, Any], unbound: Mapping[str, Any] | None = None) -> Archive:
    """The archive in this folder, new or of the same identity; another campaign's is refused.

    The configuration is saved whole: what makes the campaign this campaign, and what may change from run to run.
    """
    unbound = unbound or {}
    check_folder(folder, identity, unbound)
    with usable(folder), ExitStack() as undone:
        lock = _locked(folder)
        undone.callback(lock.release)
        # Before all else, so that the folder can be told for ours.
        write_json(folder / CONFIG, {FORMAT_NAME: FORMAT, **identity, **unbound})
        archive = Archive(folder, lock, _in_order(folder))
        undone.pop_all()
    return archive


def _in_order(folder: Path) -> Quarantine:
    """Makes what is missing in the folder, and puts findings of earlier runs in order."""
    if (folder / STATUS).is_dir():  # would show only when a step is over
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / STATUS))
    if not (folder / ENVIRONMENT).exists():
        write_json(folder / ENVIRONMENT, environment())
    for room in (CORPUS, FINDINGS, FLAKY, QUARANTINE):
        make_folder(folder / room)
    quarantine = Quarantine(folder)
    for change in changes_since(folder):
        quarantine.warn(change)
    mend_findings(folder, quarantine)
    return quarantine


def _locked(folder: Path) -> FileLock:
    try:
        make_folder(folder)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=PATIENCE)
        return lock
    except Timeout as error:
        raise OutputRefused(f"another process is at work in {folder}: wait for it or give another --out") from error

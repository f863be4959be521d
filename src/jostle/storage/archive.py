"""A campaign as a folder that a person can look into.

config.json                     the campaign's settings, digests of what they name, and the format of the folder
environment.json                versions and machine that it was begun with
journal.jsonl                   one line per step, with a checksum; a step counts once its line is there
corpus/00000012.safetensors     what step 12 kept: inputs and lineage
failing/00000012.safetensors    every input of step 12 that violates a property, as far as --keep-failing goes
findings/0001-nan-…/            the first input that showed a bug: finding.json, arrays, campaign.json (a copy of
                                config.json), in the end a picture
flaky/0001-flip-…/              the same of bugs that did not show again when their input ran alone
findings.log                    what was found and is not synced in its own folder yet; empty after a clean end
profile.safetensors             neuron ranges and known activations, where a criterion measures against them
defects.json, defects/NAME/     what triage made of the findings, each with a script
status.json                     statistics, and when they were written
coverage.jsonl                  how far each criterion was covered after how many executions
classes.json                    names of classes, where the user gave them
quarantine/                     what was found damaged when the campaign went on
lock                            held while a process works in the folder
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jostle.errors import OutputRefused
from jostle.records import Candidates, Failures, Finding
from jostle.step_records import PastStep, StepRecord, Summary
from jostle.storage.background_writer import BackgroundWriter
from jostle.storage.campaign_record import CONFIG, COPY, CampaignRecord, write_campaign
from jostle.storage.class_names import campaign_class_names
from jostle.storage.coverage_history import CoverageHistory
from jostle.storage.divergence_plots import draw_divergences
from jostle.storage.entries import digest_of_entries, encode_entries
from jostle.storage.environment import ENVIRONMENT, changes_since, environment
from jostle.storage.failing_files import FAILING, digest_of_failing, encode_failing, failing_path
from jostle.storage.files import Appended, make_folder, sync_folders, usable, write_json, write_whole
from jostle.storage.finding_block import encode_findings, folders_in
from jostle.storage.finding_record import InputType
from jostle.storage.findings import (
    FINDINGS,
    FLAKY,
    finding_folders,
    folder_name,
    number_of,
    recorded,
    write_files,
)
from jostle.storage.journal import JOURNAL, encode_line, journal_line, read_journal
from jostle.storage.ownership import check_folder
from jostle.storage.pictures import draw_pictures
from jostle.storage.quarantine import QUARANTINE, Quarantine
from jostle.storage.repair import CORPUS, entries_path, repair_findings
from jostle.storage.status import STATUS, write_status
from jostle.storage.write_ahead_log import WriteAheadLog
from jostle.untrusted.files import check_plain, read_plain

SECONDS_BETWEEN_STATUS = 1.0
PATIENCE = 0.5  # seconds for the lock, because somebody may just be looking whether it is held


class Archive:
    """Writes every step to a campaign folder: what it found is safe before the next one is planned, the rest soon."""

    def __init__(self, folder: Path, lock: FileLock, quarantine: Quarantine, input_type: InputType):
        self.folder = folder
        self._input_type = input_type
        self.quarantine = quarantine
        self._config = read_plain(folder / CONFIG)
        self._written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())  # bytes
        self._logged = 0  # bytes
        self._lock = lock
        self._background = BackgroundWriter()
        self._journal = Appended(folder / JOURNAL)
        self._log = WriteAheadLog(folder)
        self._coverage = CoverageHistory(folder)
        self._folders = {name: FindingFolders(folder / name) for name in (FINDINGS, FLAKY)}
        self._unsynced: list[Path] = []
        self._status_at = -SECONDS_BETWEEN_STATUS  # long ago

    @property
    def used(self) -> int:
        """Bytes in the folder so far."""
        return self._written + self._logged

    def __call__(self, record: StepRecord) -> None:
        found = {self._place(finding): finding for finding in (*record.findings, *record.flaky)}
        block = encode_findings(found, self._input_type) if found else None
        if block is not None:
            self._logged += self._log.add(block)
        self._background.do(partial(self._write, record, block))

    def _write(self, record: StepRecord, block: bytes | None) -> None:
        for place, files in (folders_in(block) if block is not None else {}).items():
            self._unsynced.append(self.folder / place)
            self._written += write_files(self.folder / place, {COPY: self._config, **files})
        if len(record.kept):
            self._written += write_whole(entries_path(self.folder, record.step), encode_entries(record.kept))
        if len(record.failing):
            self._written += write_whole(failing_path(self.folder, record.step), encode_failing(record.failing))
        self._written += self._journal.append(encode_line(journal_line(record)))
        self._written += self._coverage.add(record.so_far)
        if time.monotonic() - self._status_at > SECONDS_BETWEEN_STATUS:
            self._status_at = time.monotonic()
            write_status(self.folder, record.so_far, synced=False)

    def _place(self, finding: Finding) -> str:
        """Of its folder, within the campaign's."""
        place = self._folders[FINDINGS if finding.alone else FLAKY].place(finding)
        return place.relative_to(self.folder).as_posix()

    def repair(self, past: PastStep, kept: Candidates | None, failing: Failures | None) -> None:
        """Takes what came of a step that was done again: what it kept and its failing tests, None of what was there."""
        corrected: dict[str, Any] = {}
        if kept is not None:
            if len(kept):
                self._written += write_whole(entries_path(self.folder, past.step), encode_entries(kept))
            digest = digest_of_entries(kept) if len(kept) else ""
            corrected |= {"kept": len(kept), "digest": digest} if digest != past.digest else {}
        if failing is not None:
            if len(failing):
                self._written += write_whole(failing_path(self.folder, past.step), encode_failing(failing))
            digest = digest_of_failing(failing) if len(failing) else ""
            changed = digest != past.failing_digest
            corrected |= {"failing": len(failing), "failing_digest": digest} if changed else {}
        if corrected and past.by is None:
            self.quarantine.warn(
                f"step {past.step} came out otherwise when it was done again, so the model does not always do the "
                f"same: the campaign goes on with what came out"
            )
        elif corrected:
            self.quarantine.warn(
                f"step {past.step} was done by one of several workers and cannot be done again: the first seed stands "
                f"for each entry that is lost, and failing tests that are lost are gone"
            )
        if corrected:
            self._rewrite(past.step, corrected)

    def _rewrite(self, step: int, corrected: Mapping[str, Any]) -> None:
        """Corrects fields of a step's line in the journal."""
        lines = list(read_journal(self.folder / JOURNAL).lines)
        lines[step] = replace(lines[step], **corrected)
        write_whole(self.folder / JOURNAL, b"".join(map(encode_line, lines)), synced=True)
        self._journal.close()
        self._journal = Appended(self.folder / JOURNAL)

    def wait(self) -> None:
        """Until all steps so far are written."""
        self._background.wait()

    def conclude(self, summary: Summary) -> None:
        """Writes the last statistics of a run, and makes all it found durable where it stands."""
        self.wait()
        write_status(self.folder, summary, synced=True)
        self._written += self._coverage.add(summary, last=True)
        sync_folders(self._unsynced)
        self._unsynced.clear()
        self._log.clear()
        self._logged = 0

    def close(self, pictures: bool = True) -> None:
        """Draws the pictures, which takes longest, and lets another process go on with the campaign."""
        try:
            self.wait()
            if pictures:
                self._draw()
        finally:
            self.release()

    def _draw(self) -> None:
        for name in self._folders:
            draw_pictures(self.folder / name, campaign_class_names(self.folder))
        draw_divergences(self.folder)

    def release(self) -> None:
        """Lets another process go on with the campaign; the end of this one does that too."""
        self._background.close()
        self._journal.close()
        self._coverage.close()
        self._log.close()
        self._lock.release()


class FindingFolders:
    """The folders of findings, of which each bug has one for good."""

    def __init__(self, folder: Path):
        self._folder = folder
        # A finding whose step was cut off is found again in the same folder; were it not, it would still be there.
        self._places = {record.identity: place for place, record in recorded(folder)}
        self._numbers = count(1 + max(map(number_of, finding_folders(folder)), default=0))

    def place(self, finding: Finding) -> Path:
        bug = (finding.violation.kind, finding.bug)
        if bug not in self._places:
            self._places[bug] = self._folder / folder_name(next(self._numbers), finding)
        return self._places[bug]


@contextmanager
def open_archive(folder: Path, settings: Mapping[str, Any], pictures: bool = True) -> Iterator[Archive]:
    """The archive of a campaign that a script wires itself; the settings are whatever tells it from another.

    When the block is left, however it is left, nobody writes in the folder any more. All steps are written then, or
    what failed is raised, and findings have pictures unless they are not wanted.
    """
    with closed_after(open_campaign(folder, CampaignRecord(settings)), pictures) as archive:
        yield archive


@contextmanager
def closed_after(archive: Archive, pictures: bool = True) -> Iterator[Archive]:
    """Closes the archive after the block; only releases it if the block, or what was still to be written, failed."""
    try:
        yield archive
        archive.close(pictures)
    finally:
        archive.release()


def open_campaign(folder: Path, record: CampaignRecord) -> Archive:
    """The archive in this folder for a session to hold, new or of the same campaign; another campaign's is refused."""
    check_folder(folder, record)
    with usable(folder), ExitStack() as undone:
        lock = _locked(folder)
        undone.callback(lock.release)
        write_campaign(folder, record)  # before all else, so that the folder can be told for ours
        archive = Archive(folder, lock, _in_order(folder), record.input_type)
        undone.pop_all()
    return archive


def _in_order(folder: Path) -> Quarantine:
    """Makes what is missing in the folder, and puts findings of earlier runs in order."""
    if (folder / STATUS).is_dir():  # would show only when a step is over
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / STATUS))
    if not (folder / ENVIRONMENT).exists():
        write_json(folder / ENVIRONMENT, environment())
    for name in (CORPUS, FAILING, FINDINGS, FLAKY, QUARANTINE):
        make_folder(folder / name)
    quarantine = Quarantine(folder)
    for change in changes_since(folder):
        quarantine.warn(change)
    repair_findings(folder, quarantine)
    return quarantine


def _locked(folder: Path) -> FileLock:
    try:
        make_folder(folder)
        _check_lock(folder / "lock")
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=PATIENCE)
        return lock
    except Timeout as error:
        raise OutputRefused(f"another process is at work in {folder}: wait for it or give another --out") from error


def _check_lock(path: Path) -> None:
    """Refuses a lock that is no file: whoever takes it empties what it leads to."""
    try:
        check_plain(path)
    except FileNotFoundError:
        return
    except ValueError as error:
        raise OutputRefused(f"{path} cannot be used ({error}): move it away, or give another --out") from error

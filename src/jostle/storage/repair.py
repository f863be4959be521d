"""Before a campaign goes on, its folder is put in order: unfinished work goes, damaged files go to the quarantine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from safetensors import SafetensorError

from jostle.records import Candidates, Seeds
from jostle.storage.campaign_record import CONFIG, COPY
from jostle.storage.entries import decode_entries, digest_of_entries
from jostle.storage.failing_files import FAILING, failing_path, read_arrays
from jostle.storage.files import cut, make_folder, remove, sync_folders, write_whole
from jostle.storage.finding_block import BEFORE_RECORD, folders_in
from jostle.storage.findings import FINDINGS, FLAKY, FOLDER, finding_folders, is_whole, write_files
from jostle.storage.journal import JOURNAL, Journal, read_journal
from jostle.storage.quarantine import LONGEST, QUARANTINE, Quarantine, portable_name
from jostle.storage.write_ahead_log import LOG, read_log
from jostle.untrusted.files import read_plain

CORPUS = "corpus"
STEP_FILE = re.compile(r"(\d{8,})\.safetensors")
OUR_TEMPORARY = re.compile(r"\.[A-Za-z0-9_-]+\.(json|jsonl|npy|npz|png|safetensors|scratch)\.tmp")
IN_FLIGHT = "inflight.bin"  # what the model's own process was given last; of no use once the campaign is dead
NAMED = 5  # steps or folders that a warning names


def entries_path(folder: Path, step: int) -> Path:
    return folder / CORPUS / f"{step:08}.safetensors"


def repair_findings(folder: Path, quarantine: Quarantine) -> None:
    """Findings that a run left unfinished are completed from its log or removed, damaged ones are set aside.

    If the log is damaged, it may have held what is unfinished: that is set aside too, and the log last of all.
    """
    _remove_temporary(folder)
    places = [place for name in (FINDINGS, FLAKY) for place in finding_folders(folder / name)]
    found, damaged = _logged(folder)
    logged = {folder / place: files for place, files in found.items() if _is_ours(place)}
    for place, files in logged.items():
        if not is_whole(place):
            write_files(place, {COPY: read_plain(folder / CONFIG), **files})
    for place in places:
        if not damaged and place not in logged and _is_unfinished(place):
            remove(place)
    sync_folders(logged)
    set_findings_aside(folder, quarantine, is_whole)
    if damaged:
        quarantine.set_aside(folder / LOG)
        quarantine.warn(
            f"{LOG} is damaged, so findings of the last run may be missing: it was moved to {folder / QUARANTINE}, "
            f"and what can be read of it was used"
        )
    elif (folder / LOG).exists() and (folder / LOG).stat().st_size:
        cut(folder / LOG, 0)


def _logged(folder: Path) -> tuple[dict[str, dict[str, bytes]], bool]:
    """The files of each finding in the log, by the place of its folder, and whether the log is damaged."""
    log = read_log(folder)
    found: dict[str, dict[str, bytes]] = {}
    damaged = log.damaged
    for block in log.blocks:
        try:
            found |= folders_in(block)
        except ValueError:
            damaged = True
    return found, damaged


def _is_unfinished(place: Path) -> bool:
    """Whether nothing stands there but what is written before a finding's record."""
    return {path.name for path in place.iterdir()} <= set(BEFORE_RECORD)


def set_findings_aside(folder: Path, quarantine: Quarantine, sound: Callable[[Path], bool]) -> None:
    """Moves those findings away that do not pass."""
    places = [place for name in (FINDINGS, FLAKY) for place in finding_folders(folder / name)]
    damaged = [place for place in places if not sound(place)]
    for place in damaged:
        quarantine.set_aside(place)
    if damaged:
        named = _named(place.name for place in damaged)
        quarantine.warn(f"damaged findings were moved to {folder / QUARANTINE}: {named}")


def _is_ours(place: str) -> bool:
    parent, _, name = place.partition("/")
    ours = FOLDER.match(name) and portable_name(name) == name and len(name) <= LONGEST
    return parent in (FINDINGS, FLAKY) and bool(ours)


def _remove_temporary(folder: Path) -> None:
    """Files that were being written, or of use to one process only, when that died."""
    if (folder / IN_FLIGHT).is_file():
        remove(folder / IN_FLIGHT)
    places = [place for name in (FINDINGS, FLAKY) for place in finding_folders(folder / name)]
    for place in (folder, folder / CORPUS, folder / FAILING, *places):
        for left in place.glob(".*.tmp"):
            if OUR_TEMPORARY.fullmatch(left.name):
                remove(left)


def repair_journal(folder: Path, quarantine: Quarantine) -> Journal:
    """The journal up to the first damaged line; the rest is set aside, with the files of later steps.

    A last line that is cut off, and the files of the step that it would have told of, are unfinished work and removed.
    """
    path = folder / JOURNAL
    journal = read_journal(path)
    if journal.damaged:
        tail = read_plain(path)[journal.sound :]
        aside = quarantine.free(f"journal-from-step-{len(journal.lines)}.jsonl")
        make_folder(aside.parent)
        write_whole(aside, tail)
    if journal.sound < journal.size:
        cut(path, journal.sound)
    later = [(step, path) for step, path in _step_files(folder) if step >= len(journal.lines)]
    unfinished = [] if journal.damaged else [path for step, path in later if step == len(journal.lines)]
    untold = [path for _, path in later if path not in unfinished]
    for path in unfinished:
        remove(path)
    for path in untold:
        quarantine.set_aside(path)
    if journal.damaged or untold:
        quarantine.warn(
            f"the journal is damaged from step {len(journal.lines)} on: the rest was moved to "
            f"{folder / QUARANTINE}, and the campaign goes on from there"
        )
    return journal


def _step_files(folder: Path) -> list[tuple[int, Path]]:
    """Files of the corpus and of failing tests, by step."""
    places = [place for place in (folder / CORPUS, folder / FAILING) if place.is_dir()]
    files = ((STEP_FILE.fullmatch(path.name), path) for place in places for path in place.iterdir())
    return sorted((int(match[1]), path) for match, path in files if match)


def repair_corpus(folder: Path, journal: Journal, seeds: Seeds, quarantine: Quarantine) -> set[int]:
    """The steps whose kept entries are missing or not as the journal says; what is left of those is set aside.

    Every file is looked at, one after another, and none is held in memory.
    """
    lost = {
        line.step
        for line in journal.lines
        if line.kept and read_entries(entries_path(folder, line.step), seeds, line.digest) is None
    }
    for step in sorted(lost):
        if entries_path(folder, step).exists():
            quarantine.set_aside(entries_path(folder, step))
    if lost:
        quarantine.warn(
            f"what was kept in step {_named(map(str, sorted(lost)))} is damaged or missing: what is left of it was "
            f"moved to {folder / QUARANTINE}, and the step is done again where that is possible"
        )
    return lost


def repair_failing(folder: Path, journal: Journal, quarantine: Quarantine) -> set[int]:
    """The steps whose failing tests are missing or not as the journal says; what is left of those is set aside."""
    lost = {
        line.step
        for line in journal.lines
        if line.failing and read_arrays(failing_path(folder, line.step), line.failing_digest) is None
    }
    for step in sorted(lost):
        if failing_path(folder, step).exists():
            quarantine.set_aside(failing_path(folder, step))
    if lost:
        quarantine.warn(
            f"failing tests of step {_named(map(str, sorted(lost)))} are damaged or missing: what is left of them was "
            f"moved to {folder / QUARANTINE}, and they are made again where that is possible"
        )
    return lost


def read_entries(path: Path, seeds: Seeds, digest: str) -> Candidates | None:
    """The entries in a file, None if they are not those that the journal tells of."""
    try:
        entries = decode_entries(path, seeds)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError):
        return None
    return entries if digest_of_entries(entries) == digest else None


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more

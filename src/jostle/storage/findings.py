"""The first input that showed a bug, as a folder: finding.json, and arrays beside it."""

from __future__ import annotations

import os
import re
import tokenize
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.domain import Domain
from jostle.errors import OutputRefused, ResumeRefused
from jostle.inputs.geometry import IMAGE_LIKE, Border, Moving, placed
from jostle.lineage import Compared, Lineage, Untouched
from jostle.records import NO_LABEL, Finding
from jostle.storage.files import make_folder, remove, write_all, write_plain
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import (
    RECORD,
    FindingRecord,
    FinishedArray,
    FinishedGraph,
    decode_record,
    encode_record,
    record_as_json,
)
from jostle.storage.quarantine import portable_name
from jostle.untrusted.array_files import read_array
from jostle.untrusted.files import HEADER_LIMIT, opened_plain, read_plain

FINDINGS, FLAKY = "findings", "flaky"  # where bugs stand that show again when their input runs alone, and others
PICTURE = "picture.png"
SCRIPT, ISSUE = "reproduce.py", "issue.md"  # of a defect, and of a finding in frameworks
MINIMISED = "minimised"
MINIMISED_REFERENCE = "minimised-reference"  # where the minimised input was moved otherwise than the input
HIDDEN = "hidden"  # [neurons] of the last hidden layer: where an input lies among the seeds
FOLDER = re.compile(r"(\d{4,})-")
LONGEST_NAME = 60  # characters after the number
# What reading an array raises when its file is damaged.
UNREADABLE = (
    *(OSError, ValueError, EOFError, TypeError, KeyError, OverflowError, MemoryError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile),
)
Recorded = tuple[Path, FindingRecord]  # a finding's folder and record


def folder_name(number: int, finding: Finding) -> str:
    """A name that every file system takes, and every tool that uploads files."""
    name = portable_name(finding.violation.fingerprint.replace(".", "-").replace("_", "-"))
    return f"{number:04}-{name[:LONGEST_NAME]}".rstrip("-")


def number_of(folder: Path) -> int:
    match = FOLDER.match(folder.name)
    return int(match[1]) if match else 0


def finding_folders(findings: Path) -> list[Path]:
    """Those of ours, in order; what else lies there, links too, is not ours to touch."""
    if findings.is_symlink() or not findings.is_dir():
        return []
    with os.scandir(findings) as entries:
        names = [entry.name for entry in entries if FOLDER.match(entry.name) and entry.is_dir(follow_symlinks=False)]
    return [findings / name for name in sorted(names)]


def write_files(folder: Path, files: Mapping[str, bytes], synced: bool = False) -> int:
    """Writes a finding's folder, and tells how many bytes that took; unsynced, the log must have it too."""
    make_folder(folder)
    if synced:
        return write_all(folder, files)
    return sum(write_plain(folder / name, content) for name, content in files.items())


def read_record(folder: Path) -> FindingRecord:
    """What a finding's record says; ValueError where it is damaged, or a link."""
    return decode_record(read_plain(folder / RECORD, HEADER_LIMIT))


def recorded(findings: Path) -> Iterator[Recorded]:
    """Every whole finding with its record."""
    for folder in finding_folders(findings):
        if (folder / RECORD).exists():
            try:
                yield folder, read_record(folder)
            except (OSError, ValueError) as error:
                raise ResumeRefused(f"{folder / RECORD} is damaged ({error}): move its folder away") from error


def readable_findings(findings: Path) -> tuple[list[Recorded], int]:
    """The findings that can be read, and how many cannot: they are damaged, or just coming into being."""
    folders = finding_folders(findings)
    found: list[Recorded] = []
    for folder in folders:
        with suppress(OSError, ValueError):
            found.append((folder, read_record(folder)))
    return found, len(folders) - len(found)


@dataclass(frozen=True)
class SavedFinding:
    """A finding as its folder holds it."""

    folder: Path
    record: FindingRecord
    input: Tensor
    reference: Tensor


def read_finding(folder: Path, record: FindingRecord) -> SavedFinding:
    """The finding in this folder, whose record says this."""
    finding = SavedFinding(folder, record, _needed(folder, "input"), _needed(folder, "reference"))
    if finding.input.shape != finding.reference.shape:
        raise OutputRefused(f"{folder} holds an input and a reference of different shapes: move the folder away")
    return finding


@dataclass(frozen=True)
class SavedRoot:
    """What the folder of a finding holds of the seed that it came from."""

    seed: Tensor
    label: Tensor  # of its own shape: a class has none
    answer: Tensor | None  # what the model said of it
    placement: Tensor | None  # [2, 3] how the input was moved, None if it was not


def read_root(finding: SavedFinding) -> SavedRoot:
    """The seed of a finding."""
    folder = finding.folder
    if not (folder / "label.npy").exists():
        raise OutputRefused(f"{folder} has no label.npy, as findings of older versions of Jostle: find it again")
    seed, answer, placement = (_if_there(folder, name) for name in ("seed", "answer", "placement"))
    root = SavedRoot(finding.reference if seed is None else seed, _needed(folder, "label"), answer, placement)
    if root.seed.shape != finding.input.shape or (placement is not None and not _places(placement)):
        raise OutputRefused(f"{folder} holds a seed and an input that do not fit together: move the folder away")
    return root


def lineage_of(finding: SavedFinding, border: Border, domain: Domain | None = None) -> Lineage:
    """What is known of the way of one finding's input from its seed, in a campaign with this border.

    How anything but an image was moved, only its domain can tell; without it, the reference alone is known.
    """
    placement = _if_there(finding.folder, "placement")
    if placement is None:
        return Untouched(1)
    if not (isinstance(domain, Moving) or finding.input.ndim in IMAGE_LIKE):
        return Compared(finding.reference[None])
    return placed(domain, placement[None], border)


def _places(placement: Tensor) -> bool:
    """Whether a placement can be one."""
    return placement.shape == (2, 3) and placement.dtype is torch.float32


def finish_finding(
    finding: SavedFinding, finished: FinishedArray | FinishedGraph, arrays: Mapping[str, Tensor] | None = None
) -> None:
    """Adds arrays as files of their own, and then what is known to the record; the picture is drawn anew later."""
    remove(finding.folder / PICTURE)
    files = {f"{name}.npy": npy(array) for name, array in (arrays or {}).items()}
    record = record_as_json(replace(finding.record, finished=finished))
    write_files(finding.folder, {**files, RECORD: encode_record(record)}, synced=True)


def is_whole(folder: Path, shape: tuple[int, ...] | None = None) -> bool:
    """Whether a finding's record and all its arrays can be read, and are of this shape if one is given."""
    try:
        finding = read_finding(folder, read_record(folder))
        others = [array_in(folder, name) for name in ("seed", MINIMISED, MINIMISED_REFERENCE)]
        for name in ("label", "answer", "placement", HIDDEN):  # of shapes of their own
            array_in(folder, name)
    except (*UNREADABLE, OutputRefused):
        return False
    shape = finding.input.shape if shape is None else shape
    return all(array.shape == shape for array in (finding.input, *others) if array is not None)


def _needed(folder: Path, name: str) -> Tensor:
    array = _if_there(folder, name)
    if array is None:
        raise OutputRefused(f"{folder} has no {name}.npy: move the folder away")
    return array


def _if_there(folder: Path, name: str) -> Tensor | None:
    try:
        return array_in(folder, name)
    except UNREADABLE as error:
        raise OutputRefused(f"{folder / name}.npy is damaged: move the folder away") from error


def true_label(folder: Path, record: FindingRecord) -> int | None:
    """The class that the seed of a finding was given; None where it had none, or something else than a class."""
    try:
        label = array_in(folder, "label")
    except UNREADABLE:
        return None
    if record.own_label or label is None or label.ndim or label.is_floating_point() or label.is_complex():
        return None
    return None if int(label) == NO_LABEL else int(label)


def array_in(folder: Path, name: str) -> Tensor | None:
    """The array of a finding under this name, None if it has none; ValueError where that is a link."""
    try:
        with opened_plain(folder / f"{name}.npy") as file:
            return torch.from_numpy(read_array(file, os.fstat(file.fileno()).st_size))
    except FileNotFoundError:
        return None

"""The first input that showed a bug, as a folder."""

from __future__ import annotations

import json
import re
import tokenize
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from PIL import Image
from safetensors import SafetensorError
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.inputs.distances import LEVELS
from jostle.records import Candidates, Finding
from jostle.storage.checksums import sealed, unsealed
from jostle.storage.files import as_json, make_folder, parsed_json, portable, read_json, write_plain, write_whole
from jostle.storage.pictures import picture_of
from jostle.storage.quarantine import portable_name

FINDINGS, FLAKY = "findings", "flaky"  # where bugs stand that show again when their input runs alone, and others
RECORD = "finding.json"
BEFORE_RECORD = ("input.npy", "reference.npy", "seed.npy")  # which make a folder of a finding with the record only
FOLDER = re.compile(r"(\d{4,})-")
LONGEST_NAME = 60  # characters after the number
LONGEST_TEXT = 20_000  # characters of any one text in a record, so that a traceback without end fills no disk
# What reading an array raises when its file is damaged.
UNREADABLE = (
    *(OSError, ValueError, EOFError, TypeError, KeyError, OverflowError, MemoryError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile),
)
# What a record must say, besides texts: the type of each.
TOLD: Mapping[str, type] = {
    "kind": str,
    "summary": str,
    "fingerprint": str,
    "mutation": str,
    "details": dict,
    "bug": int,
    "step": int,
    "root": int,
    "parent": int,
}


def folder_name(number: int, finding: Finding) -> str:
    """A name that every file system takes, and every tool that uploads files."""
    name = portable_name(finding.violation.fingerprint.replace(".", "-").replace("_", "-"))
    return f"{number:04}-{name[:LONGEST_NAME]}".rstrip("-")


def encode_findings(findings: Mapping[str, Finding]) -> bytes:
    """All of some findings, by the paths of their folders, as one block: quick, because the loop waits for it."""
    rows = Candidates.joined([finding.row for finding in findings.values()])
    references = rows.references
    records = [
        _record(finding, change) for finding, change in zip(findings.values(), _changes(rows, references), strict=True)
    ]
    told = json.dumps({"places": list(findings), "moved": rows.moved.tolist(), "records": records})
    arrays = {"inputs": rows.inputs, "references": references, "seeds": rows.originals}
    return safetensors.numpy.save(
        {name: array.contiguous().numpy() for name, array in arrays.items()}
        | {"told": np.frombuffer(told.encode(), np.uint8)}
    )


def _changes(rows: Candidates, references: Tensor) -> list[float | None]:
    """By how much a value of each input changed at most; numbers that stand for something else do not."""
    if rows.inputs.dtype == torch.int64:
        return [None] * len(rows)
    changes: list[float | None] = (rows.inputs.float() - references.float()).abs().flatten(1).amax(1).tolist()
    return changes


def folders_in(block: bytes) -> dict[str, dict[str, bytes]]:
    """The files of each finding's folder, the record last: a folder with a record is whole.

    A block that is none of ours raises ValueError.
    """
    try:
        return _folders_in(safetensors.numpy.load(block))
    except (SafetensorError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"no block of findings ({error})") from error


def _folders_in(arrays: Mapping[str, Any]) -> dict[str, dict[str, bytes]]:
    told = parsed_json(arrays["told"].tobytes())
    folders = {}
    for row, (place, moved, record) in enumerate(zip(told["places"], told["moved"], told["records"], strict=True)):
        names = {"input": "inputs", "reference": "references", **({"seed": "seeds"} if moved else {})}
        files = {f"{name}.npy": _npy(torch.from_numpy(arrays[source][row])) for name, source in names.items()}
        folders[place] = {**files, RECORD: _encoded_record(record)}
    return folders


def _record(finding: Finding, change: float | None) -> dict[str, Any]:
    violation, row = finding.violation, finding.row
    root = int(row.roots[0])
    told: dict[str, Any] = {
        "kind": violation.kind,
        "summary": violation.summary,
        "fingerprint": violation.fingerprint,
        "shown again alone": finding.alone,
        "bug": finding.bug,
        "step": finding.step,
        "execution": finding.execution,
        "seed": row.seeds.names[root],
        "root": root,
        "parent": int(row.parents[0]),
        "mutation": str(row.mutations[0]) or "none: the seed itself",
        "largest change": change,
        "details": dict(violation.details),
    }
    if change is None:
        del told["largest change"]
    capped: dict[str, Any] = _capped(portable(told))
    return capped


def write_files(folder: Path, files: Mapping[str, bytes], synced: bool = False) -> int:
    """Writes a finding's folder, and tells how many bytes that took; unsynced, the log must have it too."""
    make_folder(folder)
    if synced:
        return sum(write_whole(folder / name, content, synced) for name, content in files.items())
    return sum(write_plain(folder / name, content) for name, content in files.items())


def _encoded_record(told: dict[str, Any]) -> bytes:
    return as_json(sealed(told))


def _capped(value: Any) -> Any:
    """GraphFiles that are too long keep their head and their tail, where tracebacks say most."""
    if isinstance(value, dict):
        return {str(name): _capped(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_capped(item) for item in value]
    if not isinstance(value, str) or len(value) <= LONGEST_TEXT:
        return value
    half = LONGEST_TEXT // 2
    return f"{value[:half]}\n… {len(value) - 2 * half:,} characters left out …\n{value[-half:]}"


@dataclass(frozen=True)
class SavedFinding:
    """A finding as its folder holds it."""

    folder: Path
    told: dict[str, Any]  # finding.json
    input: Tensor
    reference: Tensor


def read_finding(folder: Path, told: dict[str, Any]) -> SavedFinding:
    """The finding in this folder, whose record says this."""
    finding = SavedFinding(folder, told, _needed(folder, "input"), _needed(folder, "reference"))
    if finding.input.shape != finding.reference.shape:
        raise OutputRefused(f"{folder} holds an input and a reference of different shapes: move the folder away")
    return finding


def add_to_finding(finding: SavedFinding, arrays: Mapping[str, Tensor], told: Mapping[str, Any]) -> None:
    """More about a finding: arrays as files of their own, and then words in its record; its picture is drawn anew."""
    (finding.folder / "picture.png").unlink(missing_ok=True)
    files = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    write_files(
        finding.folder, {**files, RECORD: _encoded_record(_capped(portable({**finding.told, **told})))}, synced=True
    )


def write_png(path: Path, image: Tensor, low: float, high: float) -> None:
    """An image [channels, height, width] of values that eight bits hold, as a file."""
    levels = ((image.float() - low) / (high - low) * LEVELS).round().to(torch.uint8).permute(1, 2, 0)
    array = levels.squeeze(2) if levels.shape[2] == 1 else levels
    write_whole(path, _png(Image.fromarray(array.contiguous().numpy())))


def draw_pictures(findings: Path) -> None:
    """A picture for every finding that has none yet; they take longer to draw than all else to write."""
    for folder, told in recorded(findings):
        if not (folder / "picture.png").exists():
            arrays = {name: _array(folder / f"{name}.npy") for name in ("seed", "reference", "input", "minimised")}
            picture = picture_of({name: array for name, array in arrays.items() if array is not None}, _answers(told))
            if picture is not None:
                write_whole(folder / "picture.png", _png(picture))


def _answers(told: Mapping[str, Any]) -> dict[str, str]:
    """What the model says of each array, in words; of several models, what each says."""
    return {name: _said(list(said.values())) for name, said in told.get("answers", {}).items() if said}


def _said(said: list[dict[str, Any]]) -> str:
    if len(said) == 1:
        return f"{said[0]['label']} ({said[0]['confidence']:.1%})"
    return ", ".join(str(one["label"]) for one in said)


def _png(image: Image.Image) -> bytes:
    content = BytesIO()
    image.save(content, "png", compress_level=1)
    return content.getvalue()


def _needed(folder: Path, name: str) -> Tensor:
    try:
        array = _array(folder / f"{name}.npy")
    except UNREADABLE as error:
        raise OutputRefused(f"{folder / name}.npy is damaged: move the folder away") from error
    if array is None:
        raise OutputRefused(f"{folder} has no {name}.npy: move the folder away")
    return array


def _array(path: Path) -> Tensor | None:
    return torch.from_numpy(np.load(path, allow_pickle=False)) if path.exists() else None


def _npy(values: Tensor) -> bytes:
    content = BytesIO()
    np.save(content, values.numpy(), allow_pickle=False)
    return content.getvalue()


def finding_folders(findings: Path) -> list[Path]:
    """Those of ours, in order; what else lies there is not ours to touch."""
    if not findings.is_dir():
        return []
    return sorted(path for path in findings.iterdir() if path.is_dir() and FOLDER.match(path.name))


def number_of(folder: Path) -> int:
    match = FOLDER.match(folder.name)
    return int(match[1]) if match else 0


def recorded(findings: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every whole finding with its record."""
    for folder in finding_folders(findings):
        if (folder / RECORD).exists():
            try:
                yield folder, read_record(folder)
            except (OSError, ValueError) as error:
                raise OutputRefused(f"{folder / RECORD} is damaged ({error}): move its folder away") from error


def read_record(folder: Path) -> dict[str, Any]:
    """What a finding's record says; ValueError where it is damaged."""
    told = unsealed(read_json(folder / RECORD))
    for name, kind in TOLD.items():
        if not isinstance(told.get(name), kind):
            raise ValueError(f"{name} is not there")
    return told


def is_whole(folder: Path, shape: tuple[int, ...] | None = None) -> bool:
    """Whether a finding's record and all its arrays can be read, and are of this shape if one is given."""
    try:
        finding = read_finding(folder, read_record(folder))
        others = [_array(folder / f"{name}.npy") for name in ("seed", "minimised")]
    except (*UNREADABLE, OutputRefused):
        return False
    shape = finding.input.shape if shape is None else shape
    return all(array.shape == shape for array in (finding.input, *others) if array is not None)

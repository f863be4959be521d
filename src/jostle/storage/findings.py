"""The first input that showed a bug, as a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from jostle.distances import LEVELS
from jostle.errors import OutputRefused
from jostle.records import Finding
from jostle.storage.files import write_json, write_whole
from jostle.storage.pictures import picture_of

FOLDER = re.compile(r"(\d{4,})-")


def folder_name(number: int, finding: Finding) -> str:
    """A name that every file system takes."""
    return f"{number:04}-" + re.sub(r"[^A-Za-z0-9]+", "-", finding.violation.fingerprint).strip("-")[:60]


def write_finding(folder: Path, finding: Finding) -> None:
    """Writes all of it, the record last: a folder with a record is whole. Who calls this syncs, once for many."""
    violation, row = finding.violation, finding.row
    folder.mkdir(exist_ok=True)
    input, reference = row.inputs[0], row.references[0]
    write_whole(folder / "input.npy", _npy(input))
    write_whole(folder / "reference.npy", _npy(reference))
    if row.moved[0]:
        write_whole(folder / "seed.npy", _npy(row.originals[0]))
    write_json(
        folder / "finding.json",
        {
            "kind": violation.kind,
            "summary": violation.summary,
            "fingerprint": violation.fingerprint,
            "shown again alone": finding.alone,
            "bug": finding.bug,
            "step": finding.step,
            "execution": finding.execution,
            "seed": row.seeds.names[int(row.roots[0])],
            "root": int(row.roots[0]),
            "parent": int(row.parents[0]),
            "mutation": row.steps[0] or "none: the seed itself",
            "largest change": float((input.float() - reference.float()).abs().max()),
            "details": dict(violation.details),
        },
        synced=False,
    )


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
    for name, array in arrays.items():
        write_whole(finding.folder / f"{name}.npy", _npy(array))
    write_json(finding.folder / "finding.json", {**finding.told, **told}, synced=False)


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
    except (OSError, ValueError) as error:
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
    return sorted(path for path in findings.iterdir() if path.is_dir() and FOLDER.match(path.name))


def number_of(folder: Path) -> int:
    match = FOLDER.match(folder.name)
    return int(match[1]) if match else 0


def recorded(findings: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every whole finding with its record."""
    for folder in finding_folders(findings):
        record = folder / "finding.json"
        if record.exists():
            try:
                told = json.loads(record.read_text())
                yield folder, {"kind": told["kind"], "bug": told["bug"], "step": told["step"], **told}
            except (ValueError, KeyError, TypeError) as error:
                raise OutputRefused(f"{record} is damaged ({error}): move its folder away") from error

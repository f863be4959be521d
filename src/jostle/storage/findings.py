"""The first input that showed a bug, as a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.records import Finding
from jostle.storage.files import write_json, write_whole
from jostle.storage.pictures import picture_of

FOLDER = re.compile(r"(\d{4,})-")


def folder_name(number: int, finding: Finding) -> str:
    """A name that every file system takes."""
    return f"{number:04}-" + re.sub(r"[^A-Za-z0-9]+", "-", finding.violation.fingerprint).strip("-")[:60]


def write_finding(folder: Path, finding: Finding) -> None:
    """Writes all of it, the record last: a folder with a record is whole."""
    violation, row = finding.violation, finding.row
    folder.mkdir(exist_ok=True)
    input, reference = row.inputs[0], row.references[0]
    write_whole(folder / "input.npy", _npy(input), synced=True)
    write_whole(folder / "reference.npy", _npy(reference), synced=True)
    if row.moved[0]:
        write_whole(folder / "seed.npy", _npy(row.originals[0]), synced=True)
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
    )


def draw_pictures(findings: Path) -> None:
    """A picture for every finding that has none yet; they take longer to draw than all else to write."""
    for folder, _ in recorded(findings):
        if not (folder / "picture.png").exists():
            input, reference, seed = (_array(folder / f"{name}.npy") for name in ("input", "reference", "seed"))
            picture = None if input is None or reference is None else picture_of(input, reference, seed)
            if picture is not None:
                content = BytesIO()
                picture.save(content, "png", compress_level=1)
                write_whole(folder / "picture.png", content.getvalue())


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

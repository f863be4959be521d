"""The first input that showed a bug, as a folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from jostle.records import Finding
from jostle.storage.files import write_json
from jostle.storage.pictures import picture_of


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


def number_of(finding: Path) -> int:
    """The number in a finding's name, such as 0012-nan-…; 0 for what is no finding."""
    number = finding.name.partition("-")[0]
    return int(number) if number.isdigit() else 0

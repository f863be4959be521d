"""Every name in a campaign's folder survives every file system, and being uploaded as an artefact."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from jostle.records import Finding, Violation
from jostle.session.identity import folder_of
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.findings import folder_name
from jostle.storage.quarantine import Quarantine
from making import batch_of

PORTABLE = re.compile(r"[A-Za-z0-9._-]{1,100}")
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10))}
NASTY = [
    *("CON", "aux.txt", 'a:b?<c>|*"d"', "é漢字" * 20, "../../etc/passwd", "trailing. ", "...", "", "x" * 200),
    *("-", "NUL:x\n"),
]


def check(name: str) -> None:
    assert PORTABLE.fullmatch(name), name
    assert not name.endswith((".", " ", "-")) and name.partition(".")[0].upper() not in RESERVED


@pytest.mark.parametrize("fingerprint", NASTY)
def test_findings_have_portable_names(fingerprint: str) -> None:
    finding = Finding(Violation("x", fingerprint, ""), 1, 1, 1, batch_of(torch.rand(1, 4)), True)
    check(folder_name(1, finding))
    check(folder_name(123456, finding))


@pytest.mark.parametrize("name", NASTY)
def test_what_is_set_aside_has_a_portable_name_that_nothing_else_has(name: str, tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    for number in range(3):
        file = tmp_path / f"file{number}"
        file.write_text(str(number))
        quarantine.set_aside(file, f"findings-{name}")
    found = list((tmp_path / "quarantine").iterdir())
    assert sorted(path.read_text() for path in found) == ["0", "1", "2"]
    for path in found:
        check(path.name)


@pytest.mark.parametrize("model", [name for name in NASTY if name])
def test_campaign_folders_have_portable_names(model: str) -> None:
    check(folder_of(None, [model, "deephunter"], CampaignRecord({})).name)

"""Small cases of defects: what a folder holds once a case is written into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jostle
from jostle.errors import WriteFailed
from jostle.storage import defect_case
from jostle.storage.campaign_record import read_campaign
from jostle.storage.defect_case import CASE, DefectCase, read_case, write_case
from jostle.storage.findings import read_record


@pytest.fixture
def found(tmp_path: Path) -> jostle.Result:
    seeds = np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4)
    how = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 200}
    return jostle.fuzz(
        lambda inputs: (inputs - 0.1).log(), seeds, oracle="nan", out=tmp_path / "run", quiet=True, **how
    )


def test_a_case_that_is_written_anew_leaves_no_file_of_the_old_one(found: jostle.Result, tmp_path: Path) -> None:
    [defect, *_] = found.defects
    place = found.place(defect)
    case = DefectCase(defect, read_record(place), read_campaign(found.folder))
    write_case(tmp_path / "case", case, place)
    names = {path.name for path in (tmp_path / "case").iterdir()}
    for stale in ("seed.npy", "placement.npy", "picture.png", "reproduce.py"):
        (tmp_path / "case" / stale).write_bytes(b"of another finding")
    (tmp_path / "case" / "notes").mkdir()  # a person's
    (tmp_path / "case" / "README.md").write_text("why we keep this")
    write_case(tmp_path / "case", case, place)
    assert {path.name for path in (tmp_path / "case").iterdir()} == {*names, "notes", "README.md"}
    assert read_case(tmp_path / "case").defect == defect


def test_a_case_that_is_half_written_is_none(
    found: jostle.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [defect, *_] = found.defects
    place = found.place(defect)
    case = DefectCase(defect, read_record(place), read_campaign(found.folder))
    write_case(tmp_path / "case", case, place)

    def fails(folder: Path, files: object) -> None:
        raise WriteFailed("the disk is full")

    monkeypatch.setattr(defect_case, "write_all", fails)
    with pytest.raises(WriteFailed):
        write_case(tmp_path / "case", case, place)
    assert not (tmp_path / "case" / CASE).exists()

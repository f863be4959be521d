"""defects.json gives back what was written, and damage shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.errors import OutputRefused
from jostle.storage.defect_record import Cause, Defect
from jostle.storage.defects import DEFECTS_FILE, read_defects, write_defects

DEFECT = Defect(
    name="flip-4-to-9-rotation",
    cause=Cause("flip", "4 → 9", "rotation", "conv2", 1),
    title="4 taken for 9 when rotated by 11°",
    findings=("0003-flip-1-4-9", "0001-flip-0-4-9"),
    seeds=2,
    weight=0.75,
    reasons={"small change": 0.5, "confident": 1.0},
    explanation=("rotated by 11°", "the model says 9 (91.2%), before 4 (99.1%)"),
    unstable=None,
)
UNSTABLE = Defect(
    "crash", Cause("crash", "ValueError", "", "", 0), "it fails", ("0002-crash",), 1, 0.0, {}, (), unstable=0.25
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_defects(tmp_path, [DEFECT, UNSTABLE])
    assert read_defects(tmp_path) == [DEFECT, UNSTABLE]


def test_damage_shows_in_one_line_that_names_the_remedy(tmp_path: Path) -> None:
    write_defects(tmp_path, [DEFECT])
    path = tmp_path / DEFECTS_FILE
    path.write_text(path.read_text().replace("rotated by 11", "rotated by 12"))
    with pytest.raises(OutputRefused, match=r"cannot be read \(not as it was written\): jostle triage"):
        read_defects(tmp_path)


def test_a_campaign_that_was_not_triaged_says_so(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="No such file or directory"):
        read_defects(tmp_path)

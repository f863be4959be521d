"""The folder of a defect shows the finding that shows it best."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from campaign_folders import written_campaign
from jostle.commands.triage import triage
from jostle.storage.class_names import keep_class_names
from jostle.storage.defects import DEFECTS
from jostle.storage.findings import FINDINGS, PICTURE
from jostle.storage.pictures import draw_pictures

DRAWN_BEFORE = b"what was drawn when the finding was finished"
IMAGE = b"\x89PNG"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = written_campaign(tmp_path / "campaign", 3)
    draw_pictures(folder / FINDINGS)
    return folder


def picture_of(campaign: Path, classes: Path | None = None) -> tuple[Path, bytes]:
    """The picture of the finding that shows the first defect best, and the content of the defect's own."""
    first = triage(campaign, classes).defects[0]
    own = (campaign / DEFECTS / first.name / PICTURE).read_bytes()
    return campaign / FINDINGS / first.findings[0] / PICTURE, own


def test_the_picture_of_the_finding_is_copied(campaign: Path) -> None:
    source, drawn = picture_of(campaign)
    assert drawn == source.read_bytes() and drawn.startswith(IMAGE)
    source.write_bytes(DRAWN_BEFORE)
    assert picture_of(campaign)[1] == DRAWN_BEFORE


def test_a_finding_without_a_picture_and_a_link_in_its_place_are_drawn(campaign: Path, tmp_path: Path) -> None:
    source, drawn = picture_of(campaign)
    source.unlink()
    assert picture_of(campaign)[1] == drawn
    (tmp_path / "secret").write_bytes(DRAWN_BEFORE)
    source.symlink_to(tmp_path / "secret")
    assert picture_of(campaign)[1] == drawn


def test_other_names_of_classes_are_drawn(campaign: Path, tmp_path: Path) -> None:
    _, drawn = picture_of(campaign)
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"digit {number}" for number in range(10)))
    _, renamed = picture_of(campaign, names)
    assert renamed.startswith(IMAGE) and renamed != drawn


def test_names_that_are_kept_anew_say_whether_they_are_others(tmp_path: Path) -> None:
    assert keep_class_names(tmp_path, {0: "cat"}) and not keep_class_names(tmp_path, {0: "cat"})
    assert keep_class_names(tmp_path, {0: "dog"})
    (tmp_path / "classes.json").write_text("{")
    assert keep_class_names(tmp_path, {0: "dog"}), "what is damaged is written anew"


def test_names_for_fewer_classes_than_the_model_has_are_told_in_one_line(campaign: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("zero\none\n")
    (warning,) = triage(campaign, names).warnings
    assert warning == (
        f"--classes {names} has no name for class 2, 3, 4 and 5 more of at least 10: these are called by their numbers"
    )
    names.write_text("\n".join(map(str, range(10))))
    assert triage(campaign, names).warnings == ()
    shutil.rmtree(campaign / FINDINGS)
    names.write_text("zero\n")
    assert triage(campaign, names).warnings == (), "nothing tells of other classes"

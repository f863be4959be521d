"""Which findings names of folders stand for, and what is said where they stand for none."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign_folders import defect, written_campaign
from jostle.commands.kept_findings import Unreadable, originals, read_findings, refuse_if_none
from jostle.errors import UsageError
from jostle.storage.defects import write_defects


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Four findings that are two defects."""
    folder = written_campaign(tmp_path / "out", 4, per_defect=2)
    for number in range(2):
        (folder / "defects" / f"defect-{number}").mkdir(parents=True)
        (folder / "defects" / f"defect-{number}" / "finding.json").touch()
    return folder


def test_a_defect_is_the_copy_of_its_first_finding_and_their_folder_of_all(campaign: Path) -> None:
    findings = sorted((campaign / "findings").iterdir())
    assert originals(campaign / "defects" / "defect-1") == [findings[2]]
    assert originals(campaign / "defects") == [findings[0], findings[2]]
    assert [originals(place) for place in (campaign, findings[0], campaign / "defects" / "other")] == [None] * 3


def test_a_copy_whose_finding_is_not_known_is_refused_with_what_to_give(campaign: Path) -> None:
    write_defects(campaign, [defect(0, ["0009-gone"])])
    for name in ("defect-0", "defect-1"):
        with pytest.raises(UsageError, match=r"out/findings/NAME") as refused:
            originals(campaign / "defects" / name)
        assert "\n" not in str(refused.value)
    (campaign / "defects.json").unlink()
    with pytest.raises(UsageError, match=r"jostle triage .* writes it anew"):
        originals(campaign / "defects" / "defect-0")


def test_damaged_findings_are_left_out_of_a_campaign_but_refused_by_name(campaign: Path) -> None:
    first, *others = sorted((campaign / "findings").iterdir())
    (first / "finding.json").write_text("{")
    read = read_findings([campaign, others[0]])
    assert [folder for folder, _ in read.found] == others and [one.folder for one in read.unreadable] == [first]
    with pytest.raises(UsageError, match=r"0001-flip-x holds no finding \("):
        read_findings([first])


def test_what_is_not_there_is_told_from_what_holds_nothing(campaign: Path) -> None:
    (campaign.parent / "other").mkdir()
    for place, says in (
        (campaign / "findings" / "0002-flip", r"does not exist: did you mean 0002-flip-x\? Else give a campaign"),
        (campaign / "defects" / "defect-7", r"does not exist: did you mean defect-[01]\? Else give"),
        (campaign.parent / "outs", r"does not exist: did you mean out\? Else"),
        (campaign.parent / "otter", r"otter does not exist: give a campaign"),
        (campaign.parent / "nowhere" / "at all", r"does not exist: give a campaign's folder, with a config\.json"),
        (campaign.parent, r"holds no finding \(neither config\.json nor finding\.json is in it\)"),
    ):
        with pytest.raises(UsageError, match=says):
            read_findings([place])


def test_places_in_which_nothing_can_be_read_are_refused_in_one_line() -> None:
    refuse_if_none([], [])
    refuse_if_none([1], [Unreadable(Path("a"), "no")])
    with pytest.raises(UsageError, match=r"a cannot be read \(no\), nor can 1 other:"):
        refuse_if_none([], [Unreadable(Path("a"), "no"), Unreadable(Path("b"), "no")])

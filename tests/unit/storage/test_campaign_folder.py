"""What is said of a folder in which a campaign was looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign_folders import written_campaign
from jostle.errors import OutputRefused
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.overview import overview_of


def refusal(folder: Path) -> str:
    with pytest.raises(OutputRefused) as refused:
        campaign_in(folder)
    said = str(refused.value)
    assert "\n" not in said and "Errno" not in said
    return said


def test_a_missing_folder_is_told_from_one_that_holds_something_else(tmp_path: Path) -> None:
    missing, other = refusal(tmp_path / "gone"), refusal(tmp_path)
    assert "there is no such folder" in missing and "it has no config.json" in other
    assert all("give the folder that jostle fuzz wrote to" in said for said in (missing, other))


def test_a_campaign_whose_record_was_deleted_is_no_missing_folder_and_can_be_mended(tmp_path: Path) -> None:
    folder = written_campaign(tmp_path / "out", 2)
    content = (folder / "config.json").read_bytes()
    (folder / "config.json").unlink()
    assert refusal(folder).endswith("config.json is missing, though the rest of a campaign is there: bring it back")
    copy = folder / "findings" / "0002-flip-x" / "campaign.json"
    copy.write_bytes(content)
    assert f"copy {copy} to it" in refusal(folder)
    with pytest.raises(OutputRefused, match=r"config\.json is missing"):
        overview_of(folder)
    copy.rename(folder / "config.json")
    assert campaign_in(folder).settings["seeds"] == "digits"


def test_a_damaged_record_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")
    assert "config.json cannot be read" in refusal(tmp_path)
    assert "Not a directory" in refusal(tmp_path / "config.json")

"""What became of a finding, and which findings a place stands for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jostle.commands.kept_findings import findings_in
from jostle.commands.replay import OF_GRADIENT, Replay, ReplayStatus
from jostle.lineage import NO_GRADIENT
from jostle.options.schema import Given
from jostle.records import Violation
from jostle.session.folder_trust import FolderTrust
from jostle.session.reopen import Reopened, python_file
from jostle.storage.campaign_record import CampaignRecord, Origin, campaign_from_json
from jostle.storage.finding_record import FindingRecord, InputType
from making import NOISE

FLIP = FindingRecord(
    InputType.ARRAY, "flip", "label 3 became 5", "flip:7:3:5", True, 1, 2, 30, "seed 7", 7, 1, NOISE, 0.5, {}
)


def shown(*fingerprints: str) -> Replay:
    return Replay(Path("f"), FLIP, tuple(Violation(text.partition(":")[0], text, "") for text in fingerprints))


@pytest.mark.parametrize(
    ("fingerprints", "status"),
    [
        ([], ReplayStatus.GONE),
        (["flip:7:3:5"], ReplayStatus.AGAIN),
        (["nan:nan:output", "flip:7:3:5"], ReplayStatus.AGAIN),
        (["flip:7:3:8"], ReplayStatus.OTHERWISE),
        (["nan:nan:output"], ReplayStatus.OTHERWISE),
        (["crash:ValueError:net.py:forward"], ReplayStatus.OTHERWISE),
        (["agree:top1:7:3:5"], ReplayStatus.GONE),
    ],
)
def test_only_what_violates_nothing_of_the_findings_kind_is_mended(
    fingerprints: list[str], status: ReplayStatus
) -> None:
    result = shown(*fingerprints)
    assert result.status is status
    assert result.still_wrong == (status in (ReplayStatus.AGAIN, ReplayStatus.OTHERWISE))


def test_what_did_not_run_is_neither_wrong_nor_mended() -> None:
    result = Replay(Path("f"), replace(FLIP, mutation=NO_GRADIENT), not_run=OF_GRADIENT)
    assert result.status is ReplayStatus.NOT_RUN and not result.still_wrong


def test_a_place_stands_for_the_findings_in_it(tmp_path: Path) -> None:
    places = [tmp_path / "findings" / name for name in ("0001-a", "0002-b", "notes")]
    for place in places:
        place.mkdir(parents=True)
        (place / "finding.json").touch()
    assert findings_in(tmp_path) == findings_in(tmp_path / "findings") == places[:2]
    assert findings_in(places[2]) == [places[2]]
    assert findings_in(tmp_path / "gone") == [tmp_path / "gone"]


def campaign(folder: str, *files: str) -> Reopened:
    given = Given({"model": "nets.py:build", "oracle": ("nan", "props.py:p"), "twin": "int8"})
    return Reopened(given, CampaignRecord({}, files=dict.fromkeys(files, "digest"), origin=Origin(folder)))


def test_a_campaign_is_worked_on_where_it_ran_if_its_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, here = tmp_path / "ran", tmp_path / "here"
    ran.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    (ran / "nets.py").touch()
    for folder, files, where in (
        (str(ran), ["nets.py:build"], ran),
        (str(ran), ["nets.py:build", "props.py:p"], here),
        (str(ran / "nets.py"), [], here),
        (str(tmp_path / "gone"), [], here),
        ("../ran", [], here),
        ("", [], here),
    ):
        with campaign(folder, *files).in_its_folder(FolderTrust(whoever_made_it=True)):
            assert Path.cwd() == where
        assert Path.cwd() == here


def test_options_that_are_replaced_take_their_files_with_them() -> None:
    left = campaign("", "nets.py:build", "props.py:p", "profile.safetensors").but_for("model")
    assert left.names() == ["int8", "nan", "props.py:p"] and left.record.files == {"props.py:p": "digest"}


def test_where_a_campaign_ran_is_recorded_and_does_not_tell_it_from_others() -> None:
    one, other = CampaignRecord({"a": 1}, origin=Origin("/x", "classes", 0.5)), CampaignRecord({"a": 1})
    assert campaign_from_json(one.as_json()) == one
    assert one.differences(other) == [] and one.identity() == other.identity()
    older = {name: value for name, value in one.as_json().items() if name != "origin"}
    assert campaign_from_json(older).origin == Origin()


def test_only_python_in_a_file_has_a_file() -> None:
    assert python_file("a/nets.py:build") == Path("a/nets.py")
    assert [python_file(name) for name in ("jostle.zoo:lenet5", "int8", "weights16:50%", "net.pt2")] == [None] * 4

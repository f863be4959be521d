"""What a page shows is what the folder of its campaign tells, whatever state that is in."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from campaign_folders import campaign_record, finding_record, write_finding, written_campaign
from jostle.commands.report import contents_of, write_report
from jostle.errors import OutputRefused, UsageError
from jostle.report.compare import compared
from jostle.report.contents import as_json
from jostle.report.render import rendered
from jostle.storage.campaign_record import write_campaign
from jostle.storage.coverage_history import COVERAGE
from jostle.storage.defects import DEFECTS_FILE
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import FinishedArray
from jostle.storage.findings import FINDINGS
from jostle.zoo import mnist_sample

SHOWN_FILES = ["environment.json", "findings/0001-flip-x/reproduce.py", "defects/defect-0/reproduce.py"]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return written_campaign(tmp_path / "campaign", 12, per_defect=3)


def findings(campaign: Path) -> list[Path]:
    return sorted((campaign / FINDINGS).iterdir())


def test_everything_stands_there_once(campaign: Path) -> None:
    contents = contents_of(campaign)
    assert [one.name for one in contents.findings] == [place.name for place in findings(campaign)]
    assert sorted(place for one in contents.defects for place in one.findings) == list(range(12))
    assert len(contents.sentences) == 2 and "net.py:model with its twin int8" in contents.sentences[0]
    assert contents.command == "jostle fuzz net.py:model"
    assert [curve.name for curve in contents.curves] == ["kmnc: covered"] and contents.curves[0].share
    assert {one.name for one in contents.yields} == {"rotation", "noise", "brightness"}
    assert contents.twins[0].twin == "int8" and contents.twins[0].layers[-1].begins == 4


def test_nothing_in_the_folder_changes(campaign: Path) -> None:
    before = {path: path.read_bytes() for path in campaign.rglob("*") if path.is_file()}
    contents_of(campaign)
    assert {path: path.read_bytes() for path in campaign.rglob("*") if path.is_file()} == before


def test_a_card_has_pictures_answers_and_words(campaign: Path) -> None:
    card = contents_of(campaign).defects[0]
    assert [panel.caption for panel in card.panels] == ["seed", "change, amplified 10 times", "mutant"]
    assert all(panel.picture is not None for panel in card.panels)
    assert [(said.by, said.label, said.right) for said in card.panels[2].said] == [
        ("model", "1", False),
        ("int8", "0", True),
    ]
    assert card.traceback == "Traceback" and card.confirmed == "showed again in 5 of 5 runs in a new process"


def test_classes_have_the_names_of_a_file(campaign: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("zero\none\n")
    contents = contents_of(campaign, names)
    card = next(one for one in contents.defects if 0 in one.findings)
    assert card.panels[2].said[0].label == "one" and contents.findings[0].label == "zero"
    assert "zero" in card.title and "one" in card.title
    assert sorted(place for one in contents.defects for place in one.findings) == list(range(12))


def test_findings_that_were_finished_after_triage_are_grouped_now(campaign: Path) -> None:
    assert contents_of(campaign).defects[0].title == "Digit 0 taken for 1 when changed"
    later = (campaign / DEFECTS_FILE).stat().st_mtime_ns + 1_000_000_000
    os.utime(findings(campaign)[3] / "finding.json", ns=(later, later))
    assert all(one.title != "Digit 0 taken for 1 when changed" for one in contents_of(campaign).defects)


def test_settings_of_zero_are_shown(campaign: Path) -> None:
    record = campaign_record()
    zeros = {**record.settings, "seed": 0, "share": 0.0, "off": False, "nothing": None, "none": [], "empty": ""}
    write_campaign(campaign, replace(record, settings=zeros))
    shown = {fact.name: fact.value for fact in contents_of(campaign).settings}
    assert shown["seed"] == shown["share"] == "0" and not {"off", "nothing", "none", "empty"} & shown.keys()


@pytest.mark.parametrize("name", ["input.npy", "reference.npy"])
@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_array_costs_its_picture_only(campaign: Path, name: str, damage: bytes | None) -> None:
    path = findings(campaign)[0] / name
    path.unlink() if damage is None else path.write_bytes(damage)
    contents = contents_of(campaign)
    assert len(contents.findings) == 12 and contents.defects[0].panels == ()


def test_a_damaged_finding_is_left_out_and_counted(campaign: Path) -> None:
    (findings(campaign)[0] / "finding.json").write_text("{}")
    contents = contents_of(campaign)
    assert len(contents.findings) == 11 and "1 finding left out" in contents.notes[0]


def test_findings_that_triage_did_not_see_are_grouped_now(campaign: Path) -> None:
    shutil.rmtree(findings(campaign)[4])
    contents = contents_of(campaign)
    assert sorted(place for one in contents.defects for place in one.findings) == list(range(11))
    (campaign / DEFECTS_FILE).write_text("[")
    assert len(contents_of(campaign).defects) == len(contents.defects)


@pytest.mark.parametrize("name", ["status.json", "environment.json", "journal.jsonl", "domain.toml", COVERAGE])
@pytest.mark.parametrize("damage", [b"[\xff", None])
def test_no_other_file_is_needed(campaign: Path, name: str, damage: bytes | None) -> None:
    (campaign / name).unlink() if damage is None else (campaign / name).write_bytes(damage)
    assert len(contents_of(campaign).findings) == 12


def test_a_campaign_without_findings_says_so(tmp_path: Path) -> None:
    contents = contents_of(written_campaign(tmp_path / "quiet", 0))
    assert contents.defects == () and contents.sentences[1] == "Nothing was found that it gets wrong."
    data = as_json(contents)
    assert data["defects"] == data["findings"] == data["twins"] == []


def test_a_card_says_in_which_layer_nan_begins(campaign: Path) -> None:
    cards = contents_of(campaign).defects
    begins = cards[0].begins
    assert begins is not None and begins.layers == ("fc1",) and "between -1 and 2" in begins.told
    write_finding(findings(campaign)[0], finding_record(2), mnist_sample()[0][0], 2)  # one that knows its layers
    os.utime(campaign / DEFECTS_FILE)
    begins = contents_of(campaign).defects[0].begins
    assert begins is not None and begins.layers == ("conv1", "relu1", "fc1") and begins.place == 2


def test_a_minimised_input_is_read_with_its_own_reference(campaign: Path) -> None:
    place, arrays = findings(campaign)[0], mnist_sample()[0][:2]
    for name, array in (("minimised", arrays[1]), ("minimised-reference", arrays[1])):
        (place / f"{name}.npy").write_bytes(npy(array))
    card = contents_of(campaign).defects[0]
    assert [one.caption for one in card.panels] == ["seed", "no change", "smallest mutant", "mutant as found"]


def test_a_twin_that_cannot_be_looked_into_has_no_layers_to_show(campaign: Path) -> None:
    place, record = findings(campaign)[0], finding_record(2)
    assert isinstance(record.finished, FinishedArray) and record.finished.divergence is not None
    unknown = replace(record.finished, divergence=replace(record.finished.divergence, begins=None, layers=()))
    write_finding(place, replace(record, finished=unknown), mnist_sample()[0][0], 2)
    os.utime(campaign / DEFECTS_FILE)  # as if triage had seen it
    assert contents_of(campaign).defects[0].divergence is None


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"folder format": 1}'])
def test_what_is_no_campaign_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(OutputRefused):
        contents_of(tmp_path)


def test_two_campaigns_share_the_defects_with_the_same_cause(campaign: Path, tmp_path: Path) -> None:
    longer = written_campaign(tmp_path / "longer", 18, per_defect=3)
    comparison = compared(contents_of(campaign), contents_of(longer), (campaign, longer))
    assert comparison.names == ("campaign", "longer")
    assert [pair.one.name for pair in comparison.both] == [f"defect-{place}" for place in range(4)]
    assert [one.name for one in comparison.only[0]] == []
    assert [one.name for one in comparison.only[1]] == ["defect-4", "defect-5"]
    assert comparison.sentence == "4 defects show in both, 0 in campaign only, 2 in longer only."
    assert {one.name: one.of for one in comparison.curves}["kmnc: covered"] == (0, 1)
    assert [row.name for row in comparison.figures if row.name == "findings"] == ["findings"]


def test_campaigns_of_one_name_are_told_apart_by_their_places(campaign: Path, tmp_path: Path) -> None:
    same = written_campaign(tmp_path / "other" / "campaign", 3)
    comparison = compared(contents_of(campaign), contents_of(same), (campaign, same))
    assert comparison.names == (str(campaign), str(same))


@pytest.mark.parametrize(
    "name", ["environment.json", "findings/0001-flip-x/reproduce.py", "defects/defect-0/reproduce.py"]
)
@pytest.mark.parametrize("hard", [False, True])
def test_links_in_a_strangers_folder_show_nothing(campaign: Path, tmp_path: Path, name: str, hard: bool) -> None:
    secret, link = tmp_path / "secret.json", campaign / name
    secret.write_text('{"password": "xyzzy-plugh"}')
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.hardlink_to(secret) if hard else link.symlink_to(secret)
    assert "xyzzy-plugh" not in rendered(contents_of(campaign))
    link.unlink()
    link.write_text('{"password": "xyzzy-plugh"}')  # a file of its own is shown
    assert "xyzzy-plugh" in rendered(contents_of(campaign))


def test_names_for_fewer_classes_than_the_model_has_are_a_note(campaign: Path, tmp_path: Path) -> None:
    names, told = tmp_path / "names.txt", list[str]()
    names.write_text("zero\none\n")
    write_report(campaign, tmp_path / "page.html", names, told.append)
    assert [f"--classes {names} has no name for class 2, 3, 4 and 5 more of at least 10" in one for one in told] == [
        True
    ]
    write_report(campaign, tmp_path / "page.html", None, told.append)
    assert len(told) == 1


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that nobody can write to")
def test_a_place_that_cannot_be_written_is_named_without_talk_of_going_on(campaign: Path) -> None:
    with pytest.raises(UsageError, match=r"^cannot write the report /proc/page.html: .*--out$") as refused:
        write_report(campaign, Path("/proc/page.html"))
    assert "goes on" not in str(refused.value)

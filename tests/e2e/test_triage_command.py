"""`jostle triage`: few defects of many findings, without running anything of the folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from running import Ended

from campaign_folders import written_campaign
from jostle.cli.terminal import Exit
from jostle.storage.defects import read_defects
from jostle.storage.failing_tests import read_failing

Run = Callable[..., Ended]
NETS = """
import torch
from torch import nn


def net():
    model = nn.Linear(3, 3)
    with torch.no_grad():
        model.weight.copy_(torch.eye(3))
        model.bias.zero_()
    return model
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from running import in_this_process

    folder = tmp_path_factory.mktemp("project")
    (folder / "nets.py").write_text(NETS)
    (folder / "names.txt").write_text("<b>red</b>\ngreen\nblue\n")
    inputs = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    np.savez(folder / "seeds.npz", x=inputs.numpy(), y=inputs.argmax(1).numpy())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        call = "fuzz nets.py:net --seeds seeds.npz --oracle flip --sigma 0.5 --radius 1 --executions 400 --out out"
        ended = in_this_process(*call.split(), "--classes", "names.txt")
        (folder / "printed.txt").write_text(ended.out)
        assert ended.code == Exit.FINDINGS, ended.err
    return folder


@pytest.fixture
def campaign(project: Path, tmp_path: Path) -> Path:
    return shutil.copytree(project / "out", tmp_path / "out")


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A campaign with findings that are images."""
    return written_campaign(tmp_path / "campaign", 3)


def test_a_campaign_ends_with_its_defects_in_words(project: Path) -> None:
    printed = (project / "printed.txt").read_text()
    findings = len(list((project / "out" / "findings").iterdir()))
    defects = read_defects(project / "out")
    assert len(defects) <= 6 < findings, "there are six pairs of three classes"
    assert f"{len(defects)} defects in {findings} findings" in printed
    assert "green taken for blue" in printed and "<b>red</b> taken for" in printed
    assert all(one.title in printed for one in defects)


def test_defects_tell_how_many_failing_tests_they_stand_for(jostle: Run, project: Path, campaign: Path) -> None:
    told = jostle("triage", str(campaign), "--json").json()
    tests = read_failing(campaign)
    assert told["failing_tests"] == told["failing_tests_kept"] == len(tests) > told["findings"]
    for defect in told["defects"]:
        label, answer = (int(one) for one in defect["what"].split(" → "))
        assert defect["failing_tests"] == int(((tests.labels == label) & (tests.answers == answer)).sum()) > 0
    assert f"{told['defects'][0]['failing_tests']} failing tests" in (project / "printed.txt").read_text()
    assert f"{len(tests):,}, all kept" in jostle("status", str(campaign)).out
    next((campaign / "failing").iterdir()).unlink()
    left = jostle("triage", str(campaign), "--json").json()
    assert 0 < left["failing_tests_unreadable"] < len(tests)
    assert "cannot be read and left out" in jostle("triage", str(campaign)).out


def test_the_table_and_the_json_say_the_same_whatever_is_gone(jostle: Run, project: Path, campaign: Path) -> None:
    """Neither the model nor the seeds are needed, and files that would be run are not."""
    for config in (campaign / "config.json", *campaign.glob("findings/*/campaign.json")):
        config.write_text(config.read_text().replace("nets.py", "gone.py"))
    told = jostle("triage", str(campaign), "--json").json()
    printed = jostle("triage", str(campaign), "--classes", str(project / "names.txt")).out
    assert len(told["defects"]) == len(read_defects(campaign))
    assert all(defect["name"] in printed for defect in told["defects"])
    assert sum(len(defect["findings"]) for defect in told["defects"]) == told["findings"]


def test_names_of_classes_are_in_the_folder_and_no_file_that_it_names_is_read(
    jostle: Run, project: Path, campaign: Path
) -> None:
    (project / "secret.txt").write_text("a secret\n" * 3)
    config = campaign / "config.json"
    config.write_text(config.read_text().replace("names.txt", "secret.txt"))
    titles = [defect["title"] for defect in jostle("triage", str(campaign), "--json").json()["defects"]]
    assert any("green taken for blue" in title for title in titles)
    (campaign / "classes.json").unlink()
    (campaign / "classes.json").symlink_to(project / "secret.txt")
    titles = [defect["title"] for defect in jostle("triage", str(campaign), "--json").json()["defects"]]
    assert any("1 taken for 2" in title for title in titles)


def test_defects_that_are_no_more_lose_their_folder_and_others_keep_what_is_theirs(jostle: Run, campaign: Path) -> None:
    first = read_defects(campaign)[0]
    for name in first.findings:
        shutil.rmtree(campaign / "findings" / name)
    (campaign / "defects" / "mine").mkdir()
    assert jostle("triage", str(campaign)).code == Exit.CLEAN
    left = {path.name for path in (campaign / "defects").iterdir()}
    assert left == {one.name for one in read_defects(campaign)} | {"mine"}
    assert first.name not in left


@pytest.mark.parametrize("name", ["../../precious", "/etc", "a/../../precious"])
def test_a_list_that_names_other_folders_removes_nothing(name: str, jostle: Run, campaign: Path) -> None:
    from jostle.storage.checksums import with_checksum, without_checksum

    precious = campaign.parent / "precious"
    precious.mkdir(exist_ok=True)
    path = campaign / "defects.json"
    content = without_checksum(json.loads(path.read_text()))
    content["defects"][0]["name"] = name
    path.write_text(json.dumps(with_checksum(content)))
    assert jostle("triage", str(campaign)).code == Exit.CLEAN
    assert precious.is_dir() and read_defects(campaign)[0].name != name


@pytest.mark.parametrize("gone", [False, True], ids=["a defect that stays", "a defect that is no more"])
@pytest.mark.parametrize("linked", [True, False], ids=["a link", "a file"])
@pytest.mark.parametrize("depth", ["all", "one"])
def test_links_in_place_of_folders_of_defects_are_refused_and_nothing_behind_them_changes(
    depth: str, linked: bool, gone: bool, jostle: Run, campaign: Path
) -> None:
    defect = read_defects(campaign)[0]
    if gone:
        for name in defect.findings:
            shutil.rmtree(campaign / "findings" / name)
    place = campaign / "defects" if depth == "all" else campaign / "defects" / defect.name
    home = campaign.parent / "home"
    kept = [home / name for name in ("id_rsa", "issue.md", "input.npy", f"{defect.name}/notes.txt", "mine/notes.txt")]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    shutil.rmtree(place)
    if linked:
        place.symlink_to(home)
    else:
        place.write_text("in the way")
    ended = jostle("triage", str(campaign))
    assert ended.code == Exit.USAGE and str(place) in ended.err and len(ended.err.strip().splitlines()) == 1
    assert ("remove the link" if linked else "move it away") in ended.err
    assert sorted(path for path in home.rglob("*") if path.is_file()) == sorted(kept)
    assert all(path.read_text() == "precious" for path in kept)


@pytest.mark.parametrize("gone", [False, True])
def test_links_and_folders_in_the_folder_of_a_defect_stay_and_lead_nowhere(
    gone: bool, jostle: Run, campaign: Path
) -> None:
    defect = read_defects(campaign)[0]
    if gone:
        for name in defect.findings:
            shutil.rmtree(campaign / "findings" / name)
    home = campaign.parent / "home"
    home.mkdir()
    (home / "id_rsa").write_text("precious")
    place = campaign / "defects" / defect.name
    (place / "home").symlink_to(home)
    (place / "old.txt").write_text("ours")
    (place / "issue.md").unlink()
    (place / "issue.md").symlink_to(home / "id_rsa")
    assert jostle("triage", str(campaign)).code == Exit.CLEAN
    assert [(path.name, path.read_text()) for path in home.iterdir()] == [("id_rsa", "precious")]
    assert (place / "home").is_symlink() and not (place / "old.txt").exists()
    assert gone == (place / "issue.md").is_symlink()


def test_a_running_campaign_is_told_of_and_left_alone(jostle: Run, campaign: Path) -> None:
    (campaign / "defects.json").unlink()
    code = (
        "import sys, time; from filelock import FileLock; lock = FileLock(sys.argv[1]); lock.acquire(); "
        "print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(campaign / "lock")], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline()
            ended = jostle("triage", str(campaign))
        finally:
            other.kill()
    assert ended.code == Exit.CLEAN and "the campaign is running" in ended.out
    assert not (campaign / "defects.json").exists()


def test_findings_that_are_damaged_or_linked_elsewhere_are_left_out(jostle: Run, campaign: Path) -> None:
    first, second, *_ = sorted((campaign / "findings").iterdir())
    (first / "finding.json").write_text("{")
    (campaign.parent / "secret.txt").write_text("secret")
    (second / "notes.txt").symlink_to(campaign.parent / "secret.txt")
    ended = jostle("triage", str(campaign))
    assert ended.code == Exit.CLEAN and "1 finding cannot be read and left out" in ended.out
    assert not list(campaign.glob("defects/*/notes.txt"))


def put_in_place(path: Path, what: str) -> None:
    """Puts something else where a file was, or could be."""
    content = path.read_bytes() if path.is_file() else b"a secret"
    path.unlink(missing_ok=True)
    elsewhere = path.parents[3] / f"elsewhere-{path.name}"
    elsewhere.write_bytes(b"a secret" if path.suffix == ".txt" else content)
    if what == "link":
        path.symlink_to(elsewhere)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "truncated":
        path.write_bytes(content[: len(content) * 2 // 3])
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "other shape":
        np.save(path, np.zeros((2, 7), np.float32))
    elif what == "no values":
        np.save(path, np.zeros((1, 0, 0), np.float32))


OF_ARRAYS = ["other shape", "no values"]
ODD = ["link", "pipe", "folder", "truncated", "empty", "missing", *OF_ARRAYS]
TEXTS = ["change.txt", "minimised-change.txt"]
ARRAYS = ["input.npy", "reference.npy", "seed.npy", "label.npy", "minimised.npy", "hidden.npy"]


@pytest.mark.parametrize("command", ["triage", "report"])
@pytest.mark.parametrize("what", ODD)
def test_files_of_findings_that_are_not_as_we_write_them_are_not_waited_for_followed_or_stumbled_over(
    what: str, command: str, jostle: Run, tmp_path: Path
) -> None:
    """Each finding has one of its files spoiled, and each is a defect of its own as far as the report knows."""
    names = [*TEXTS, *ARRAYS] if what in OF_ARRAYS else [*TEXTS, *ARRAYS, "finding.json"]
    digits = written_campaign(tmp_path / "campaign", len(names) + 1, per_defect=1)
    for place, name in zip(sorted((digits / "findings").iterdir()), names, strict=False):
        put_in_place(place / name, what)
    ended = jostle(command, str(digits))
    assert ended.code == Exit.CLEAN, ended.err
    written = [path for path in (*digits.glob("defects/*/*"), digits / "report.html") if path.is_file()]
    assert written and not any(path.is_symlink() or b"a secret" in path.read_bytes() for path in written)


@pytest.mark.parametrize("command", ["triage", "report"])
@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
@pytest.mark.parametrize(
    "name",
    ["config.json", "status.json", "journal.jsonl", "coverage.jsonl", "environment.json", "defects.json", "lock"],
)
def test_files_of_a_campaign_that_are_links_or_pipes_are_left_out_or_refused_in_one_line(
    name: str, what: str, command: str, jostle: Run, digits: Path
) -> None:
    if what == "link":
        (digits / name).touch()
        (digits / name).replace(digits.parent / name)
        (digits / name).symlink_to(digits.parent / name)
    else:
        (digits / name).unlink(missing_ok=True)
        (digits / name).mkdir() if what == "folder" else os.mkfifo(digits / name)
    ended = jostle(command, str(digits))
    assert ended.code in (Exit.CLEAN, Exit.USAGE, Exit.OUR_ERROR), ended.err
    assert "Traceback" not in ended.err and len(ended.err.strip().splitlines()) <= 1


def test_a_link_to_the_folder_of_a_finding_is_no_finding(jostle: Run, digits: Path) -> None:
    before = jostle("triage", str(digits), "--json").json()["findings"]
    first = min((digits / "findings").iterdir())
    first.replace(digits.parent / "elsewhere")
    first.symlink_to(digits.parent / "elsewhere")
    assert jostle("triage", str(digits), "--json").json()["findings"] == before - 1


def test_what_is_no_campaign_is_refused_in_one_line(jostle: Run, tmp_path: Path, campaign: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text('{"folder format": 2')
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.json").write_text('{"folder format": 1}')
    for place, why in (("none", "holds no campaign"), ("half", "holds no campaign"), ("old", "another version")):
        ended = jostle("triage", str(tmp_path / place))
        assert ended.code == Exit.USAGE and why in ended.err and len(ended.err.splitlines()) == 1
    refused = jostle("triage", str(campaign), "--classes", "gone.txt")
    assert refused.code == Exit.USAGE and "one name a line" in refused.err


@pytest.mark.slow
def test_every_defect_is_shown_by_its_script_in_a_new_process(project: Path) -> None:
    for defect in read_defects(project / "out"):
        folder = project / "out" / "defects" / defect.name
        assert (folder / "issue.md").read_text().startswith("# ")
        done = subprocess.run([sys.executable, "reproduce.py"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 1 and "AssertionError" in done.stderr, done.stderr

"""Findings made smaller after their campaign."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from running import ENVIRONMENT, PATIENCE, Ended, in_this_process

from jostle.commands.tmin import Observer, minimise_findings
from jostle.storage.defects import read_defects
from jostle.storage.findings import FINDINGS, recorded
from jostle.zoo import lenet5, mnist_sample
from making import options

Command = Callable[..., Ended]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits that were turned or lit until they were taken for others; nothing is minimised yet."""
    folder = tmp_path_factory.mktemp("tmin")
    images, labels = mnist_sample()
    np.savez(folder / "digits.npz", x=images[:40].numpy(), y=labels[:40].numpy())
    fuzz = ("fuzz", "jostle.zoo:lenet5", "--seeds", str(folder / "digits.npz"), "--recipe", "deephunter")
    ended = in_this_process(*fuzz, "--ranges", "paper", "--executions", "1500", "--out", str(folder / "out"))
    assert ended.code == 1, ended.err
    return folder / "out"


@pytest.fixture(scope="module")
def minimised(campaign: Path) -> Ended:
    """What the command says when it goes over all findings of a copy."""
    copy = shutil.copytree(campaign, campaign.parent / "copy")
    return in_this_process("tmin", str(copy), "--json")


def test_every_finding_shows_the_same_bug_with_less(campaign: Path, minimised: Ended) -> None:
    assert minimised.code == 0 and minimised.err == ""
    told = minimised.json()
    assert told["left"] == 0 and len(told["findings"]) == len(list(recorded(campaign / FINDINGS)))
    net, shorter = lenet5(), 0
    for one in told["findings"]:
        small = torch.from_numpy(np.load(Path(one["folder"]) / "minimised.npy"))
        assert int(net(small[None]).argmax()) == int(one["fingerprint"].rpartition(":")[2])
        assert one["worked_on"] and one["after"]["L2"] <= one["before"]["L2"] + 1e-5
        shorter += one["steps_left"] is not None and one["steps_left"] != one["steps"]
    assert shorter > len(told["findings"]) / 2


def test_what_was_known_of_findings_stays(campaign: Path, minimised: Ended) -> None:
    before = {record.fingerprint: record for _, record in recorded(campaign / FINDINGS)}
    for one in minimised.json()["findings"]:
        now = json.loads((Path(one["folder"]) / "finding.json").read_text())
        old = before[one["fingerprint"]].finished
        assert now["location"]["layer"] == old.location.layer  # type: ignore[union-attr]
        assert (Path(one["folder"]) / "picture.png").exists() and (Path(one["folder"]) / "hidden.npy").exists()


def test_the_same_command_leaves_alone_what_was_minimised(campaign: Path, minimised: Ended) -> None:
    folders = [Path(one["folder"]) for one in minimised.json()["findings"]]
    before = [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())]
    again = in_this_process("tmin", str(folders[0].parent.parent))
    assert again.code == 0 and f"{len(folders)} findings left alone, because minimised before" in again.out
    assert "→" in again.out and "rotated by" in again.out
    assert any(line.count("–") == 3 for line in again.out.splitlines()), "what was only moved has no norm to tell"
    assert [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())] == before


def test_one_finding_is_minimised_alone_and_time_that_is_over_loses_nothing(campaign: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(campaign, tmp_path / "copy")
    first, *others = sorted((copy / FINDINGS).iterdir())
    ended = in_this_process("tmin", str(first), str(others[0]), "--budget", "0.0001s")
    assert ended.code == 0 and "2 left, because the time was over" in ended.out
    assert in_this_process("tmin", str(first)).code == 0
    done = {place: record.finished for place, record in recorded(copy / FINDINGS)}
    assert [place for place, one in done.items() if one.minimised is not None] == [first]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("missing", "did you mean 0001-"),
        ("alone", "stands outside of its campaign"),
        ("seeds", "digits.npz) of the campaign in"),
        ("none", "holds no finding (neither config.json nor finding.json is in it)"),
        ("config", "config.json is missing, though the rest of a campaign is there"),
    ],
)
def test_what_cannot_be_minimised_is_said_in_a_line(campaign: Path, tmp_path: Path, damage: str, says: str) -> None:
    first = sorted((campaign / FINDINGS).iterdir())[0]
    place = first.with_name(first.name + "x")
    if damage == "alone":
        place = shutil.copytree(first, tmp_path / first.name)
    elif damage == "none":
        place = tmp_path
    elif damage == "config":
        place = shutil.copytree(campaign, tmp_path / "copy")
        (place / "config.json").unlink()
    elif damage == "seeds":
        copy = shutil.copytree(campaign, tmp_path / "copy")
        seeds = campaign.parent / "digits.npz"
        content = seeds.read_bytes()
        images, labels = mnist_sample()
        try:
            np.savez(seeds, x=images[1:41].numpy(), y=labels[1:41].numpy())
            ended = in_this_process("tmin", str(copy))
        finally:
            seeds.write_bytes(content)
        place = copy
    ended = ended if damage == "seeds" else in_this_process("tmin", str(place))
    assert ended.code == 4 and says in ended.err and len(ended.err.strip().splitlines()) == 1


def test_a_defect_stands_for_the_finding_that_it_was_copied_from(campaign: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(campaign, tmp_path / "copy")
    defect = read_defects(copy)[0]
    original, place = copy / FINDINGS / defect.findings[0], copy / "defects" / defect.name
    ended = in_this_process("tmin", str(place))
    assert ended.code == 0, ended.err
    assert f"{place} is a copy of findings/{original.name}: that is minimised" in ended.err
    assert "working on 1 finding: " in ended.err and "for at most 60 s" in ended.err
    assert (place / "minimised.npy").read_bytes() == (original / "minimised.npy").read_bytes()
    assert "ARRAY = 'minimised.npy'" in (place / "reproduce.py").read_text()
    near = in_this_process("tmin", str(place) + "x")
    assert near.code == 4 and f"did you mean {defect.name}?" in near.err
    shutil.rmtree(original)
    refused = in_this_process("tmin", str(place))
    assert refused.code == 4 and f"{copy}/findings/NAME" in refused.err and refused.err.count("\n") == 1


def test_a_damaged_finding_does_not_keep_others_from_being_minimised(campaign: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(campaign, tmp_path / "copy")
    first, *others = sorted((copy / FINDINGS).iterdir())
    (first / "finding.json").write_text("{")
    ended = in_this_process("tmin", str(copy), "--json")
    told = ended.json()
    assert ended.code == 0 and [one["folder"] for one in told["unreadable"]] == [str(first)]
    assert [one["folder"] for one in told["findings"]] == list(map(str, others)) and told["left"] == 0
    assert "damaged findings were moved to" in ended.err


def test_the_first_interrupt_keeps_what_is_done_and_the_same_command_goes_on(campaign: Path, tmp_path: Path) -> None:
    looks = count()
    undisturbed = shutil.copytree(campaign, tmp_path / "undisturbed")
    minimise_findings([undisturbed], options(), Observer(stopped=lambda: next(looks) < 0))
    half = next(looks) // 2  # in the midst of the searches
    copy, looks = shutil.copytree(campaign, tmp_path / "copy"), count()
    done = minimise_findings([copy], options(), Observer(stopped=lambda: next(looks) > half))
    assert done.stopped and any(one.left for one in done.findings)
    assert any(one.after is not None for one in done.findings), "what was under way is kept as small as it got"
    (triaged,) = done.triaged
    best = triaged.defects[0]
    original, shown = copy / FINDINGS / best.findings[0], copy / "defects" / best.name
    assert (shown / "finding.json").read_bytes() == (original / "finding.json").read_bytes()
    assert in_this_process("tmin", str(copy), "--json").json()["left"] == 0


INTERRUPTED = """
import signal
from jostle.cli.main import main
from jostle.session.finish import InputFinisher

finish_these = InputFinisher.finish_these


def interrupted(self, *args):
    signal.raise_signal(signal.SIGINT)
    return finish_these(self, *args)


InputFinisher.finish_these = interrupted
main()
"""


def test_an_interrupted_command_ends_as_an_interrupted_campaign_does(campaign: Path, tmp_path: Path) -> None:
    """In a process of its own, as other libraries that ran in this one may not stand signals."""
    call = [sys.executable, "-c", INTERRUPTED, "tmin", str(shutil.copytree(campaign, tmp_path / "copy"))]
    ended = subprocess.run(call, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2 and "once more stops at once" in ended.stderr, ended.stderr
    assert "left, because it was interrupted: the same command goes on from here" in ended.stdout


def test_python_that_came_with_a_campaign_is_not_run(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, received = tmp_path / "there", tmp_path / "received"
    there.mkdir()
    monkeypatch.chdir(there)
    (there / "own.py").write_text("from jostle.zoo import lenet5 as build")
    fuzz = ("fuzz", "own.py:build", "--seeds", str(campaign.parent / "digits.npz"), "--sigma", "0.4", "--radius", "1")
    assert in_this_process(*fuzz, "--executions", "300", "--out", "out").code == 1
    monkeypatch.chdir(tmp_path)
    there.rename(received)
    monkeypatch.chdir(received)
    (received / "own.py").write_text("from pathlib import Path\nPath('ran').touch()")
    ended = in_this_process("tmin", "out")
    assert ended.code == 4 and "own.py:build (no run of yours did)" in ended.err
    assert not (received / "ran").exists()

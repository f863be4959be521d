"""Files of a campaign's folder that are no files, never end or say what cannot be: one line, and no waiting."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from running import in_this_process

from jostle.cli.terminal import Exit
from jostle.storage.findings import finding_folders
from odd_files import MEMORY, ODD_FILES, apart
from soaking import times

CALL = [
    *["fuzz", "jostle.zoo:lenet1", "--seeds", "few.npz", "--oracle", "flip", "--mutator", "noise", "--sigma", "0.4"],
    *["--radius", "1", "--coverage", "kmnc", "--batch", "8", "--findings", "2", "--executions"],
]
DOCUMENTED = (Exit.CLEAN, Exit.FINDINGS, Exit.USAGE, Exit.NOTHING_RAN)
SECONDS = 10  # of the processor, for a command that refuses, looks or runs a small model
WITH_WORKER, IN_WORKER = 60, ("replay", "tmin")  # which import torch in a process of their own, on any machine
READING: dict[str, Callable[[Path], list[str]]] = {
    "status": lambda out: ["status", str(out)],
    "fuzz": lambda out: [*CALL, "50", "--json", "--seed", "0", "--out", str(out)],
    "triage": lambda out: ["triage", str(out)],
    "report": lambda out: ["report", str(out)],
    "export": lambda out: ["export", str(out), "--junit", str(out.parent / "junit.xml")],
    "export-tests": lambda out: ["export-tests", str(out), "--as", "npz", "--out", str(out.parent / "tests.npz")],
    "cmin": lambda out: ["cmin", str(out)],
    "compare": lambda out: ["compare", str(out), str(out.parent / "other")],
    "evaluate": lambda out: ["evaluate", str(out), "float16"],
    "replay": lambda out: ["replay", str(finding_folders(out / "findings")[0])],
    "retrain": lambda out: [
        "retrain",
        str(out),
        "--data",
        "few.npz",
        "--epochs",
        "1",
        "--repeats",
        "1",
        "--batch",
        "4",
    ],
    "tmin": lambda out: ["tmin", str(out), "--budget", "1s"],
    "promote": lambda out: ["promote", str(finding_folders(out / "findings")[0]), str(out.parent / "cases")],
}


@pytest.fixture(scope="module")
def whole(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with one of each file that there is, and beside it another."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        (out.parent / "names.txt").write_text("\n".join("abcdefghij"))
        for seed, place in enumerate((out, out.with_name("other"))):
            more = ["--classes", str(out.parent / "names.txt"), "--seed", str(seed), "--out", str(place)]
            ended = in_this_process(*CALL, "40", *more)
            assert ended.code == Exit.FINDINGS, ended.err
    (out / "report.html").unlink(missing_ok=True)
    return out


def copy_of(whole: Path, folder: Path) -> Path:
    """The campaign to be damaged, and beside it the other, which is not."""
    shutil.copytree(whole.with_name("other"), folder / "other")
    return Path(shutil.copytree(whole, folder / "out"))


def files_of(out: Path) -> list[Path]:
    return sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())


def check_endures(command: str, out: Path) -> None:
    def ended() -> tuple[int, str]:
        done = in_this_process(*READING[command](out))
        return done.code, done.err

    outcome = apart(ended)
    assert not outcome.hung and outcome.kilobytes < MEMORY, outcome
    assert outcome.seconds < (WITH_WORKER if command in IN_WORKER else SECONDS), outcome
    assert isinstance(outcome.said, list), "it never came to an end"
    code, err = outcome.said
    assert "Traceback" not in err and "defect in Jostle" not in err, err
    assert code in DOCUMENTED, err
    assert code != Exit.USAGE or sum(line.startswith("jostle: ") for line in err.splitlines()) == 1, err


@pytest.mark.slow
@pytest.mark.parametrize("command", READING)
def test_every_command_reads_a_whole_folder(command: str, in_workshop: Path, whole: Path, tmp_path: Path) -> None:
    """Else it would show nothing that they endure a damaged one."""
    ended = in_this_process(*READING[command](copy_of(whole, tmp_path)))
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS), ended.err


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("number", range(times(20, 200)))
def test_every_command_endures_whatever_lies_in_the_place_of_a_file(
    number: int, in_workshop: Path, whole: Path, tmp_path: Path
) -> None:
    chance = random.Random(number)
    out = copy_of(whole, tmp_path)
    for _ in range(chance.choice([1, 1, 2])):
        file = out / chance.choice(files_of(out))
        file.unlink()
        ODD_FILES[chance.choice(sorted(ODD_FILES))](file)
    command = sorted(READING)[number % len(READING)] if number < len(READING) else chance.choice(sorted(READING))
    check_endures(command, out)


@pytest.mark.parametrize("name", ["config.json", "journal.jsonl", "status.json", "findings.log", "lock"])
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(
    name: str, in_workshop: Path, whole: Path, tmp_path: Path
) -> None:
    out = copy_of(whole, tmp_path)
    (out / name).unlink()
    os.mkfifo(out / name)
    check_endures("status", out)
    check_endures("fuzz", out)


@pytest.mark.parametrize("name", ["findings", "corpus", "failing"])
def test_a_folder_that_is_a_link_leads_nowhere(name: str, in_workshop: Path, whole: Path, tmp_path: Path) -> None:
    out = copy_of(whole, tmp_path)
    shutil.move(out / name, tmp_path / "elsewhere")
    (out / name).symlink_to(tmp_path / "elsewhere")
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "elsewhere").rglob("*"))
    for command in ("status", "fuzz", "triage"):
        ended = in_this_process(*READING[command](out))
        (line,) = ended.err.splitlines()
        assert ended.code == Exit.USAGE and f"{name} is a link" in line
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "elsewhere").rglob("*")) == before


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 300, "/".join(["deep"] * 2000), "\udcff\udcfe"])
@pytest.mark.parametrize("command", ["status", "replay", "triage", "report", "cmin", "fuzz", "coverage", "compare"])
def test_a_name_that_no_file_system_takes_is_refused_in_one_line(command: str, name: str, in_workshop: Path) -> None:
    more = {"fuzz": ["--seeds", name, "--executions", "5"], "coverage": [name]}.get(command, [])
    ended = in_this_process(command, name, *more)
    (line,) = ended.err.splitlines()
    assert ended.code == Exit.USAGE and line.startswith("jostle: ") and len(line) < 6000


@pytest.mark.slow
@pytest.mark.parametrize("command", ["tmin", "fuzz", "triage"])
def test_a_folder_in_place_of_a_picture_is_in_nobodys_way(
    command: str, in_workshop: Path, whole: Path, tmp_path: Path
) -> None:
    out = copy_of(whole, tmp_path)
    for folder in finding_folders(out / "findings"):
        (folder / "picture.png").unlink()
        (folder / "picture.png" / "within").mkdir(parents=True)
    check_endures(command, out)

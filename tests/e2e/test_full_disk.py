"""A disk that is full, or a size that the folder may have."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.storage import files
from jostle.storage.findings import is_whole
from soaking import Count, times

Run = Callable[..., Ended]
CALL = [
    *[
        "fuzz",
        "jostle.zoo:lenet5",
        "--seeds",
        "few.npz",
        "--oracle",
        "flip",
        "--mutator",
        "noise",
        "--sigma",
        "0.4",
        "--radius",
        "1",
    ],
    *["--coverage", "kmnc", "--batch", "16", "--json", "--executions", "106", "--out"],
]


@contextmanager
def room_for(writes: int) -> Iterator[list[int]]:
    """After so many writes the disk is full: half of the next content is written, and then nothing more."""
    counted, put = [0], files.put

    def failing(file: BinaryIO, content: bytes) -> None:
        counted[0] += 1
        if counted[0] > writes:
            put(file, content[: len(content) // 2 if counted[0] == writes + 1 else 0])
            raise OSError(errno.ENOSPC, "No space left on device")
        put(file, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "put", failing)
        yield counted


@pytest.fixture(scope="module")
def undisturbed(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A campaign on a disk with room, and how often it wrote."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        with room_for(10**9) as counted:
            assert in_this_process(*CALL, str(out)).code == Exit.FINDINGS
    return out, counted[0]


@pytest.mark.soak
@pytest.mark.parametrize("point", range(times(8, 100)))
def test_a_full_disk_gives_one_line_and_the_same_command_goes_on(
    point: int, in_workshop: Path, undisturbed: tuple[Path, int], tmp_path: Path, record_property: Count
) -> None:
    record_property("disks that were full", 1)
    whole, writes = undisturbed
    out, points = tmp_path / "out", times(8, 100)
    with room_for(point * (writes - 1) // (points - 1)):
        ended = in_this_process(*CALL, str(out))
    line = ended.err.splitlines()[-1]
    assert ended.code == Exit.OUR_ERROR and "No space left on device" in line and "goes on" in line
    assert not [row for row in ended.err.splitlines()[:-1] if not row.startswith("warning: neurons are taken")]
    assert not list(out.rglob(".*.tmp"))
    before = {path for path in out.glob("findings/*") if is_whole(path)}
    assert in_this_process(*CALL, str(out)).code == Exit.FINDINGS
    assert (out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
    found, expected = (sorted(path.name for path in one.glob("findings/*/*")) for one in (out, whole))
    assert found == expected and all(is_whole(path) for path in before)
    assert not list((out / "quarantine").iterdir())


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_campaign_ends_when_its_folder_is_as_large_as_it_may_be(
    in_workshop: Path, undisturbed: tuple[Path, int], tmp_path: Path
) -> None:
    whole, _ = undisturbed
    out = tmp_path / "out"
    ended = in_this_process(*CALL, str(out), "--max-disk", "200K")
    assert ended.code == Exit.FINDINGS and ended.json()["executions"] < 106
    assert f"{out} has reached --max-disk: give more to go on" in ended.err.splitlines()
    assert size_of(out / "corpus") < 200 * 1024 < size_of(whole)
    again = in_this_process(*CALL, str(out), "--max-disk", "200K")
    assert again.json()["executions"] == ended.json()["executions"] and "has reached --max-disk" in again.err
    assert in_this_process(*CALL, str(out), "--max-disk", "1G").json()["executions"] == 106
    assert (out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()


@pytest.mark.parametrize("size", ["0", "-5M", "much", "5X", "1.5.2G"])
def test_a_size_that_is_none_is_refused(size: str, in_workshop: Path, tmp_path: Path) -> None:
    ended = in_this_process(*CALL, str(tmp_path), f"--max-disk={size}")
    assert ended.code == Exit.USAGE and "give a size such as 500M or 2G" in ended.err


WORDY = """
def f(x):
    if (x[:, 0, 0, 0] > 0.1).any():
        raise ValueError("a" * 10**6)
    return x.mean((2, 3))
"""


def test_a_traceback_without_end_is_cut(tmp_path: Path, in_workshop: Path) -> None:
    model = tmp_path / "wordy.py"
    model.write_text(WORDY)
    out = tmp_path / "out"
    ended = in_this_process("fuzz", f"{model}:f", "--seeds", "ok.npy", "--executions", "600", "--out", str(out))
    assert ended.code == Exit.FINDINGS
    (record,) = out.glob("findings/*/finding.json")
    assert record.stat().st_size < 100_000
    assert "characters left out" in json.loads(record.read_text())["details"]["traceback"]
    shutil.rmtree(out)

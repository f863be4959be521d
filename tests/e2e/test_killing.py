"""Campaigns that are killed at any moment lose nothing, and end as if they had never been."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.storage.findings import is_whole, read_record
from jostle.storage.journal import read_journal
from soaking import Count, times

Run = Callable[..., Ended]
CALL = [
    *["fuzz", "jostle.zoo:lenet5", "--seeds", "few.npz", "--oracle", "flip", "--radius", "1"],
    *["--sigma", "0.5", "--batch", "16", "--json"],
]
# Of which a step is assessed, and the next but one made, while the next runs.
OVERLAPPING = [
    *[
        "fuzz",
        "jostle.zoo:lenet5",
        "--seeds",
        "few.npz",
        "--oracle",
        "flip",
        "--recipe",
        "deephunter",
        "--ranges",
        "paper",
    ],
    *["--batch", "16", "--threads", "1", "--json"],
]
EXECUTIONS = "3000"
LONGEST = 2.0  # seconds after which a run is killed at the latest; a whole one takes longer
pytestmark = [pytest.mark.soak, pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def killed(call: list[str], after: float) -> bool:
    """Runs the command in a process that is killed after so many seconds; false if it ended before."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = in_this_process(*call).code
        finally:
            os._exit(code)
    deadline = time.monotonic() + after
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fingerprints(out: Path) -> list[str]:
    return sorted(json.loads(path.read_text())["fingerprint"] for path in out.glob("findings/*/finding.json"))


def undisturbed(call: list[str], workshop: Path, out: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        assert in_this_process(*call, "--executions", EXECUTIONS, "--out", str(out)).code == Exit.FINDINGS
    return out


@pytest.fixture(scope="module")
def in_one_piece(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(CALL, workshop, tmp_path_factory.mktemp("whole") / "out")


@pytest.fixture(scope="module")
def overlapping(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(OVERLAPPING, workshop, tmp_path_factory.mktemp("overlapping") / "out")


def check_as_if_never_killed(out: Path, whole: Path) -> None:
    assert (out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
    for name in ("corpus", "failing"):
        assert contents(out / name) == contents(whole / name) != {}
    assert fingerprints(out) == fingerprints(whole)
    assert all(is_whole(folder) for folder in (out / "findings").iterdir())
    assert not list(out.rglob(".*")) and not list((out / "quarantine").iterdir())
    assert (out / "findings.log").stat().st_size == 0


@pytest.mark.parametrize(("arguments", "whole"), [(CALL, "in_one_piece"), (OVERLAPPING, "overlapping")])
@pytest.mark.parametrize("attempt", range(times(1, 4)))
def test_killed_pieces_are_the_campaign_in_one(
    attempt: int,
    arguments: list[str],
    whole: str,
    jostle: Run,
    in_workshop: Path,
    tmp_path: Path,
    record_property: Count,
    request: pytest.FixtureRequest,
) -> None:
    undisturbed_one: Path = request.getfixturevalue(whole)
    call = [*arguments, "--executions", EXECUTIONS, "--out", str(tmp_path)]
    chance = random.Random(attempt)
    pieces = 0
    while pieces < times(8, 20) and killed(call, 0.1 + chance.random() * 0.2):
        pieces += 1
    assert pieces >= times(4, 10)  # all of them, unless the machine is very fast
    assert jostle(*call).code == Exit.FINDINGS
    check_as_if_never_killed(tmp_path, undisturbed_one)
    record_property("kills of campaigns", pieces)


@pytest.mark.parametrize("moment", range(times(5, 180)))
def test_no_finding_that_was_on_record_is_lost_by_a_kill(
    moment: int, jostle: Run, in_workshop: Path, in_one_piece: Path, tmp_path: Path, record_property: Count
) -> None:
    call = [*CALL, "--executions", EXECUTIONS, "--out", str(tmp_path)]
    record_property("kills of campaigns", int(killed(call, random.Random(100 + moment).random() * LONGEST)))
    on_record = {one for line in read_journal(tmp_path / "journal.jsonl").lines for one in line.findings}
    whole = [place for place in tmp_path.glob("findings/*") if is_whole(place, (1, 28, 28))]  # not the step cut off
    assert on_record <= {read_record(place).fingerprint for place in whole}
    assert jostle(*call).code == Exit.FINDINGS
    check_as_if_never_killed(tmp_path, in_one_piece)


@pytest.mark.parametrize("seed", range(times(1, 3)))
def test_the_same_seed_gives_identical_journals_each_time(
    seed: int, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    journals = set()
    for again in range(times(3, 10)):
        out = tmp_path / str(again)
        jostle(*CALL, "--executions", "600", "--seed", str(seed), "--out", str(out))
        journals.add((out / "journal.jsonl").read_bytes())
    assert len(journals) == 1

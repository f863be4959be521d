"""Campaigns whose model has a process of its own, killed at random: either of the two, or both.

Nothing that was started outlives a killed campaign; the same command goes on; and in the end the folder is that of a
campaign that nobody disturbed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from running import in_this_process
from test_killing import check_as_if_never_killed, fingerprints

from jostle.cli.terminal import Exit
from jostle.isolation.orphans import TAG
from jostle.storage.findings import is_whole
from soaking import Count, times

FUZZ = ["fuzz", "jostle.zoo:lenet5", "--seeds", "few.npz", "--isolate", "--batch", "16", "--json"]
CALLS = {
    "tensorfuzz": [*FUZZ, "--oracle", "flip", "--radius", "1", "--sigma", "0.5"],
    "deephunter": [*FUZZ, "--recipe", "deephunter", "--ranges", "paper"],  # which find something in so few executions
    "dlfuzz": [*FUZZ, "--recipe", "dlfuzz"],
    "frameworks": ["frameworks", "mlp", "attention", "--backends", "onnxruntime", "--json"],
}
EXECUTIONS = {"tensorfuzz": 500, "deephunter": 500, "dlfuzz": 300, "frameworks": 60}
MORE = 6  # times as many where only workers are killed, which is quick
LONGEST = 600  # seconds without a step after which a campaign counts as hung, on a machine with other things to do
AT_ONCE = 30.0  # seconds that a busy machine may take for what happens at once
CAMPAIGNS = ("campaign", "both", "both, the worker first")
WORKERS = ("worker",)
NAMES = list(CALLS)[: times(1, len(CALLS))]
pytestmark = [pytest.mark.soak, pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


@dataclass
class Running:
    """A command in a process forked from this one, which spares it the seconds that importing torch takes."""

    pid: int
    code: int | None = None  # set once it has ended

    @staticmethod
    def start(call: list[str], report: Path) -> Running:
        pid = os.fork()
        if pid:
            return Running(pid)
        code = 99
        try:
            with report.open("w") as file:
                faulthandler.enable(file)  # tells where it was when it is taken for hung
                ended = in_this_process(*call)
                code = ended.code
                file.write(ended.err)
        finally:
            os._exit(code)

    def ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def workers(self) -> list[int]:
        """Everything that it has started."""
        with contextlib.suppress(psutil.Error):
            return [child.pid for child in psutil.Process(self.pid).children(recursive=True)]
        return []


def tagged(maker: int) -> list[psutil.Process]:
    """Processes that carry the name of a campaign, wherever they went; dead ones have no environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(TAG, "").startswith(f"{maker}-"):
                found.append(process)
    return found


def check_nothing_is_left_of(campaign: int) -> None:
    deadline = time.monotonic() + AT_ONCE
    while left := tagged(campaign):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def wait_for_a_moment(chance: random.Random, running: Running, journal: Path, ways: tuple[str, ...]) -> None:
    """Some time while it starts, or until it has made some steps; sooner if it ends before.

    A batch whose workers are killed again and again is taken for what kills them: between them a step is made.
    """
    before, began = _size(journal), time.monotonic()
    steps = before + chance.randrange(1, 4000)
    shortly = chance.random() < 0.4 and ways != WORKERS
    until = began + (chance.random() * 8 if shortly else LONGEST)
    while time.monotonic() < until and _size(journal) < steps and not running.ended():
        time.sleep(0.002)
    if time.monotonic() > began + LONGEST and _size(journal) == before and not running.ended():
        os.kill(running.pid, signal.SIGABRT)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def strike(chance: random.Random, running: Running, way: str) -> bool:
    """Kills what the way says; whether the campaign is among it."""
    workers = running.workers()
    worker = chance.choice(workers) if workers else None

    def kill_worker() -> None:
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        time.sleep(chance.random() * 0.05)

    if way in ("worker", "both, the worker first"):
        kill_worker()
    if way != "worker":
        running.kill()
    if way == "both":
        kill_worker()
    return way != "worker"


def check_same(name: str, out: Path, whole: Path) -> None:
    if name == "frameworks":  # what of a library worked depends on what its process did before
        assert set(fingerprints(whole)) == set(fingerprints(out))
        assert (out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
        assert all(is_whole(folder) for folder in (out / "findings").iterdir())
    else:
        check_as_if_never_killed(out, whole)
        assert not list((out / "flaky").glob("*crash*"))  # being killed by somebody else is nobody's defect


def kill_again_and_again(name: str, executions: int, ways: tuple[str, ...], most: int, folder: Path) -> None:
    """Kills a campaign's processes until that was done so many times, over as many campaigns as that takes."""
    whole, call = folder / "whole", [*CALLS[name], "--executions", str(executions)]
    expected = in_this_process(*call, "--out", str(whole)).code
    assert expected in (Exit.CLEAN, Exit.FINDINGS)
    chance, kills, campaigns = random.Random(name), 0, 0
    while kills < most:
        campaigns += 1
        out, report = folder / str(campaigns), folder / "report"
        running = Running.start([*call, "--out", str(out)], report)
        while not running.ended():
            wait_for_a_moment(chance, running, out / "journal.jsonl", ways)
            if kills < most and not running.ended():
                if strike(chance, running, ways[kills % len(ways)]):
                    check_nothing_is_left_of(running.pid)
                    running = Running.start([*call, "--out", str(out)], report)
                kills += 1
                (folder / "progress").write_text(f"{name}: {kills} of {most} kills, campaign {campaigns}\n")
        # What was killed after its last step has nothing more to run, which is told where it found nothing.
        spent = expected == Exit.CLEAN and "the budget was spent before, so nothing more ran" in report.read_text()
        assert running.code == (Exit.NOTHING_RAN if spent else expected), report.read_text()
        check_nothing_is_left_of(running.pid)
        check_same(name, out, whole)


@pytest.mark.parametrize("name", NAMES)
def test_killed_campaigns_leave_nothing_and_go_on_as_if_never_killed(
    name: str, in_workshop: Path, tmp_path: Path, record_property: Count
) -> None:
    kill_again_and_again(name, EXECUTIONS[name], CAMPAIGNS, times(2, 50), tmp_path)
    record_property("kills of isolated campaigns", times(2, 50))


@pytest.mark.parametrize("name", NAMES)
def test_killed_workers_change_nothing(name: str, in_workshop: Path, tmp_path: Path, record_property: Count) -> None:
    kill_again_and_again(name, EXECUTIONS[name] * times(1, MORE), WORKERS, times(3, 50), tmp_path)
    record_property("kills of workers", times(3, 50))

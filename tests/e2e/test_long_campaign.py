"""A campaign that runs for long takes no more memory than its corpus needs, and opens no more files."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE

from jostle.storage.journal import read_journal
from soaking import Count, times

ROW = 28 * 28 * 4  # bytes of an input
ROOM = 2 * ROW + 2048  # bytes in memory for an entry: arrays grow by doubling, and its lineage stands beside it
GROWTH = 50 * 2**20  # bytes, besides the corpus
LENGTH = times(12, 3600)  # seconds
BETWEEN = times(1, 10)  # seconds between two looks


@dataclass(frozen=True)
class Look:
    """What a campaign has at one moment."""

    memory: int  # bytes
    files: int
    threads: int
    kept: int  # entries of its corpus


@pytest.mark.slow
@pytest.mark.soak
def test_memory_grows_with_the_corpus_alone(tmp_path: Path, record_property: Count) -> None:
    out = tmp_path / "out"
    call = [JOSTLE, "fuzz", "jostle.zoo:lenet5", "--seeds", "jostle.zoo:mnist_sample", "--recipe", "deephunter"]
    call += ["--budget", "5h", "--out", str(out)]
    with subprocess.Popen(call, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        campaign = psutil.Process(running.pid)
        _wait_for(lambda: (out / "journal.jsonl").exists() and len(read_journal(out / "journal.jsonl").lines) > 20)
        looks = []
        for _ in range(round(LENGTH / BETWEEN)):
            time.sleep(BETWEEN)
            looks.append(_look(campaign, out))
        assert running.poll() is None
        running.kill()
    settled, last = looks[len(looks) // 6], looks[-1]
    assert last.memory - settled.memory < GROWTH + ROOM * (last.kept - settled.kept), (settled, last)
    assert last.files <= settled.files + 5 and last.threads <= settled.threads + 2, (settled, last)
    record_property("seconds of campaigns watched", LENGTH)


def _look(campaign: psutil.Process, out: Path) -> Look:
    kept = sum(line.kept for line in read_journal(out / "journal.jsonl").lines)
    with campaign.oneshot():
        return Look(campaign.memory_info().rss, campaign.num_fds(), campaign.num_threads(), kept)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)

"""Targets that crash, hang, eat memory or end themselves: all recorded, nothing left behind, the campaign goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from running import Ended

import hostile
from jostle.cli.terminal import Exit
from jostle.isolation.ahead import MODEL_WORKER
from jostle.isolation.process import Limits
from jostle.session.isolate import isolated
from making import batch_of, options
from soaking import times

Run = Callable[..., Ended]
TIMEOUT = 3.0  # seconds
# A signal, an end, a standstill, too much memory, no answer; the other deeds are tried in the soak.
TRIED = ("segfault", "exit_0", "stop", "memory_at_once", "closed")


def seeds(folder: Path) -> str:
    """All of them harmless, one of them nearly not."""
    values = np.full((8, 3), 0.2, np.float32) + np.arange(8, dtype=np.float32)[:, None] / 100
    values[5, 0] = 0.8
    np.save(folder / "seeds.npy", values)
    return str(folder / "seeds.npy")


def left_behind(name: str) -> list[str]:
    """Workers of this process that still run, and grandchildren that only this target has."""
    workers = [child.cmdline() for child in psutil.Process().children()]
    others = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in map(" ".join, workers) if MODEL_WORKER in line] + [
        line for line in map(" ".join, others) if hostile.MARK in line and name == "grandchild"
    ]


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("again", range(times(1, 20)))
@pytest.mark.parametrize("name", [name for name in hostile.DEEDS if name in TRIED or times(0, 1)])
def test_what_a_hostile_target_does_is_found_and_shown_again(
    name: str, again: int, jostle: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    call = ["fuzz", f"{hostile.__file__}:{name}_model", "--seeds", seeds(tmp_path), "--isolate", "--out", str(out)]
    patience = TIMEOUT if "Hang" in hostile.DEEDS[name][1] else 30  # others may take long on a busy machine
    limits = ["--timeout", f"{patience:g}s", "--rss-limit", "1500M"]
    course = "--range 0,1 --oracle nan --executions 48 --batch 8 --scheduler uniform --seed 4 --json"
    ended = jostle(*call, *limits, *course.split())
    assert ended.code == Exit.FINDINGS, ended.err
    assert ended.json()["executions"] == 48  # it went on to the end
    found = [json.loads(path.read_text()) for path in out.glob("findings/*/finding.json")]
    assert [one["fingerprint"].startswith(hostile.DEEDS[name][1]) for one in found] == [True], found
    (folder,) = (out / "findings").iterdir()
    assert np.load(folder / "input.npy")[0] > 0.9
    replayed = jostle("replay", str(folder), *limits)
    assert replayed.code == Exit.FINDINGS and replayed.out.startswith("shown again")
    assert not (out / "inflight.bin").exists()
    assert left_behind(name) == []


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("again", range(times(1, 20)))
@pytest.mark.parametrize("name", ["hang", "one_byte", "spin", "stop"][: times(2, 4)])
def test_a_target_that_does_not_answer_is_ended_in_time(name: str, again: int) -> None:
    given = options(model=f"{hostile.__file__}:{name}_model", seeds="seeds.npy")
    model, service = isolated(given, torch.zeros(1, 3), Limits(TIMEOUT, 2**40))
    started = time.monotonic()
    trace = model.target.run(batch_of(torch.ones(1, 3)))
    assert TIMEOUT <= time.monotonic() - started < TIMEOUT + 2
    assert [crash.error for crash in trace.crashes.values()] == ["Hang"]
    service.close()
    assert left_behind(name) == []

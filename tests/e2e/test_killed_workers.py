"""Workers killed at random moments: the campaign goes on, and nothing of it is lost or damaged."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE
from test_going_on import check_whole, journal

from jostle.cli.terminal import Exit
from jostle.isolation.ahead import MODEL_WORKER
from soaking import times

CALL = ["fuzz", "jostle.zoo:lenet5", "--seeds", "ok.npy", "--oracle", "flip", "--radius", "1", "--sigma", "0.4"]


def worker_of(campaign: psutil.Process) -> int | None:
    """Whichever works now."""
    for child in campaign.children():
        with contextlib.suppress(psutil.Error):  # of one that just ended
            if MODEL_WORKER in " ".join(child.cmdline()):
                return child.pid
    return None


@pytest.mark.slow
@pytest.mark.soak
def test_a_campaign_outlives_its_workers(in_workshop: Path, tmp_path: Path) -> None:
    out, rng = tmp_path / "out", np.random.default_rng(0)
    call = [JOSTLE, *CALL, "--isolate", "--batch", "32", "--budget", "1h", "--out", str(out)]
    running = subprocess.Popen(call, cwd=in_workshop, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    campaign, deadline = psutil.Process(running.pid), time.monotonic() + PATIENCE
    while not (out / "journal.jsonl").exists():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    killed, steps = 0, 0
    while killed < times(5, 200):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(float(rng.uniform(0, 2)))
        worker, done = worker_of(campaign), len((out / "journal.jsonl").read_bytes().splitlines())
        # Once in a step: an input whose process is killed again when it runs alone is rightly taken for the cause.
        if worker is not None and done > steps:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                killed, steps, deadline = killed + 1, done, time.monotonic() + PATIENCE
    workers = [child.pid for child in campaign.children()]
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == Exit.INTERRUPTED
    check_whole(out)
    executions = [line["executions"] for line in journal(out)]
    assert executions == sorted(executions) and len(executions) > killed
    assert not any(map(psutil.pid_exists, workers))
    kinds = {path.name.split("-")[1] for path in (out / "findings").iterdir()}
    assert kinds == {"flip"}  # being killed by somebody else is nobody's defect
    assert {path.name.split("-")[1] for path in (out / "flaky").iterdir()} >= {"crash"}

"""Nothing that was started outlives whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from jostle.isolation.forked import Template
from jostle.isolation.process import Died, Limits, Worker
from jostle.isolation.spawned import spawning

PATIENCE = 60  # seconds, on a machine with other things to do
BUSY = """
import os, signal, sys
from pathlib import Path
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
Path(sys.argv[1]).write_text(str(os.getpid()))
while True:
    pass
"""
LEAVING = """
import os, sys, time
from pathlib import Path

def main():
    if not os.fork():
        os.setsid()
        Path(sys.argv[-1]).with_suffix(".tmp").write_text(str(os.getpid()))
        os.rename(Path(sys.argv[-1]).with_suffix(".tmp"), sys.argv[-1])
        time.sleep(600)
    while not Path(sys.argv[-1]).exists():
        time.sleep(0.01)
    os.abort()
"""
PARENT = """
import subprocess, sys
from jostle.isolation.lifeline import BARE, command
subprocess.Popen([*command(sys.executable, BARE, "busy"), sys.argv[1]]).wait()
"""
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a template on Linux only")


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "busy.py").write_text(BUSY)
    (tmp_path / "leaving.py").write_text(LEAVING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    return tmp_path


def number_in(path: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(path.read_text())


def wait_until_dead(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@only_linux
def test_a_worker_dies_with_its_parent_while_it_imports_and_blocks_every_signal(modules: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(modules / "pid")])
    worker = number_in(modules / "pid")
    assert psutil.pid_exists(worker)
    parent.kill()
    parent.wait()
    wait_until_dead(worker)


@only_linux
def test_what_a_dead_worker_left_is_ended_though_it_ran_no_program_and_left_the_session(modules: Path) -> None:
    template = Template("leaving")
    worker = Worker(template.starting([str(modules / "pid")]), Limits(PATIENCE, 2**40))
    with pytest.raises(Died) as died:
        worker.ask({}, PATIENCE)
    assert died.value.crash.error == "SIGABRT"
    wait_until_dead(number_in(modules / "pid"))
    template.close()


@only_linux
def test_workers_end_with_a_template_that_is_killed(modules: Path) -> None:
    template = Template("busy")  # which is busy as soon as it imports it
    worker = Worker(template.starting(), Limits(PATIENCE, 2**40))
    os.kill(template._process.pid, signal.SIGKILL)
    with pytest.raises(Died) as died:
        worker.ask({}, PATIENCE)
    assert died.value.crash.error == "SIGKILL"
    template.close()


def test_a_worker_outlives_the_thread_that_started_it(modules: Path) -> None:
    workers: list[Worker] = []
    program = [sys.executable, "-c", "import sys, socket; socket.socket(fileno=int(sys.argv[1])).makefile('rw').read()"]
    thread = threading.Thread(target=lambda: workers.append(Worker(spawning(program), Limits(PATIENCE, 2**40))))
    thread.start()
    thread.join()
    time.sleep(0.2)
    (worker,) = workers
    assert worker.pid is not None and psutil.Process(worker.pid).status() != psutil.STATUS_ZOMBIE
    worker.kill()
    wait_until_dead(worker.pid)

"""What a campaign that was killed left behind: files between two processes, and processes that outlived it."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

import psutil

PREFIX = "jostle-"  # of folders for files between two processes
TAG = "JOSTLE_WORKER"  # in the environment of a worker and of all processes that descend from it


def new_name() -> str:
    """Nobody else's, and it tells whose: that of the process that made it."""
    return f"{os.getpid()}-{uuid.uuid4().hex}"


def new_folder() -> Path:
    """A folder for files between two processes."""
    folder = Path(tempfile.gettempdir()) / f"{PREFIX}{new_name()}"
    folder.mkdir(mode=0o700)
    return folder


def end_tagged(name: str) -> None:
    """Ends every process that carries this name, wherever it went."""
    for process, carried in _tagged():
        if carried == name:
            _end(process)


def clean_up() -> None:
    """Ends processes, but for this one, and removes files whose maker is no more."""
    for process, carried in _tagged():
        if process.pid != os.getpid() and _is_orphan(carried):
            _end(process)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        if _is_orphan(folder.name.removeprefix(PREFIX)):
            shutil.rmtree(folder, ignore_errors=True)


def _tagged() -> list[tuple[psutil.Process, str]]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if carried := process.environ().get(TAG):
                found.append((process, carried))
    return found


def _end(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.kill()


def _is_orphan(name: str) -> bool:
    maker = name.partition("-")[0]
    return maker.isdecimal() and not _lives(int(maker))


def _lives(pid: int) -> bool:
    """Whether a process runs; one that was killed keeps its number until its parent looks."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False

"""A worker that gave up what a model does not need: writing files, the network, and signals to other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import UsageError
from jostle.isolation import landlock, seccomp

FILES, NETWORK, SIGNALS = ALL = ("files", "network", "signals")  # what a sandbox keeps a model from
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")  # which anybody may write to
# Where libraries write by themselves; all of it goes to the worker's own folder.
CACHES = {
    **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "tmp"),
    "XDG_CACHE_HOME": "cache",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "NUMBA_CACHE_DIR": "numba",
    "MPLCONFIGDIR": "matplotlib",
}
TRIED_IN = 60  # seconds for a process that enters one


@dataclass(frozen=True)
class Entered:
    """What a sandbox keeps a process from, and why it does not keep it from the rest."""

    active: tuple[str, ...]
    missing: dict[str, str]  # by what, why

    def __str__(self) -> str:
        kept = f"no {', no '.join(WORDS[name] for name in self.active)}" if self.active else "none"
        return kept + "".join(f"; {WORDS[name]} is not prevented ({why})" for name, why in self.missing.items())


WORDS = {FILES: "writing outside of its own folder", NETWORK: "network", SIGNALS: "signals to other processes"}
NOT_ENTERED = Entered((), {})


def enter(scratch: Path, writable: Sequence[Path] = ()) -> Entered:
    """Gives up, for good, all that this system lets us give up; the scratch folder and what is named stay writable.

    It holds for threads that begin later, and so comes before all others.
    """
    _write_only_in(scratch)
    open_to = [scratch, *writable, *map(Path, DEVICES)]
    missing: dict[str, str] = {}
    version = landlock.version()
    if not version:
        missing |= dict.fromkeys((FILES, SIGNALS), "this kernel has no Landlock")
    elif (why := _refusal(lambda: landlock.restrict(open_to))) is not None:
        missing |= dict.fromkeys((FILES, SIGNALS), why)
    elif others := _other_threads():
        missing |= dict.fromkeys((FILES, SIGNALS), f"of {others} threads that libraries started before")
    elif version < landlock.SIGNALS_SCOPED:
        missing[SIGNALS] = "that takes Linux 6.12 or newer"
    if not seccomp.supported():
        missing[NETWORK] = "this system has no seccomp that we know"
    elif (why := _refusal(seccomp.refuse_calls)) is not None:
        missing[NETWORK] = why
    return Entered(tuple(name for name in ALL if name not in missing), missing)


def check_full(entered: Entered) -> None:
    """Refuses a sandbox that lacks something."""
    for name, why in entered.missing.items():
        raise UsageError(
            f"--sandbox strict cannot be had here: {WORDS[name]} is not prevented ({why}); give auto or off"
        )


def tried() -> Entered:
    """What a sandbox keeps a process from on this machine: another process enters one and says so."""
    with tempfile.TemporaryDirectory() as folder:
        script = f"from jostle.isolation.sandbox import say_what_is_active; say_what_is_active({folder!r})"
        call = [sys.executable, "-P", "-c", script]
        done = subprocess.run(call, capture_output=True, text=True, timeout=TRIED_IN)
    if done.returncode:
        return Entered((), dict.fromkeys(ALL, "a process that tried to enter it failed"))
    said = json.loads(done.stdout)
    return Entered(tuple(said["active"]), said["missing"])


def say_what_is_active(folder: str) -> None:
    """Enters a sandbox, tries what it must refuse, and writes what was refused, for the process that asks."""
    entered = enter(Path(folder, "scratch"))
    attempts: dict[str, Callable[[], object]] = {
        FILES: Path(folder, "outside").touch,
        NETWORK: _make_socket,
        SIGNALS: lambda: os.kill(os.getppid(), 0),
    }
    allowed = [name for name, attempt in attempts.items() if _refusal(attempt) is None]
    missing = {name: entered.missing.get(name, "it was tried, and was not refused") for name in allowed}
    active = [name for name in ALL if name not in missing]
    sys.stdout.write(json.dumps({"active": active, "missing": missing}))


def _make_socket() -> None:
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _refusal(deed: Callable[[], object]) -> str | None:
    """Why the system refuses something, None if it does not."""
    try:
        deed()
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _other_threads() -> int:
    """How many threads there are besides this one, for which Landlock does not hold."""
    return len(list(Path("/proc/self/task").iterdir())) - 1


def _write_only_in(scratch: Path) -> None:
    """Libraries keep what they write in the scratch folder from now on."""
    for variable, name in CACHES.items():
        (scratch / name).mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(scratch / name)
    tempfile.tempdir = None  # it is looked up anew

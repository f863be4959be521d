"""The program of a template: a process that has imported what a worker needs, and forks a worker whenever it is asked.

It only imports, and never computes: it has no threads of Python's, no device and no model, so what it forks is as good
as a process started anew. It adopts and ends what outlives its workers, and ends everything when its campaign is gone.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from jostle.isolation.lifeline import adopt_orphans, die_with
from jostle.isolation.orphans import TAG, clean_up

LONGEST, MOST_DESCRIPTORS = 2**17, 8  # bytes and descriptors of one request


class Forks:
    """Forks workers, and tells when they ended and how."""

    def __init__(self, control: socket.socket, module: str, run: Callable[[], None]):
        self._control, self._module, self._run = control, module, run
        self._workers: dict[int, str] = {}  # tags by process id
        self._woken, self._waking = os.pipe()

    def serve(self) -> None:
        """Until nobody is there to ask; then all is ended that still runs."""
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        either = select.poll()
        either.register(self._control, select.POLLIN)
        either.register(self._woken, select.POLLIN)
        asked = True
        while asked:
            ready = dict(either.poll())
            if self._woken in ready:
                os.read(self._woken, LONGEST)
                self._tell_of_the_dead()
            if self._control.fileno() in ready:
                asked = self._answer()

    def _answer(self) -> bool:
        """Does what is asked; false if nobody is there any more."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, LONGEST, MOST_DESCRIPTORS)
        except ConnectionError:
            return False
        if not message:
            return False
        request = json.loads(message)
        if "import" in request:
            _import(request["import"])
        elif "fork" in request:
            self._fork(request["fork"], descriptors, request["arguments"], request["folder"])
        else:
            self._end([pid for pid, tag in self._workers.items() if tag == request["end"]])
        return True

    def _fork(self, tag: str, descriptors: Sequence[int], arguments: Sequence[str], folder: str) -> None:
        template, child = os.getpid(), os.fork()
        if not child:
            self._become_worker(template, tag, descriptors, arguments, folder)
        for descriptor in descriptors:
            os.close(descriptor)
        self._workers[child] = tag
        self._tell({"forked": tag, "pid": child})

    def _become_worker(
        self, template: int, tag: str, descriptors: Sequence[int], arguments: Sequence[str], folder: str
    ) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with(template)
        code = 1
        try:
            os.setsid()
            os.chdir(folder)
            self._control.close()
            os.close(self._woken)
            os.close(self._waking)
            connection, output, *passed = descriptors
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            os.environ[TAG] = tag
            if "numpy.random" in sys.modules:
                sys.modules["numpy.random"].seed()  # else every worker would draw the same
            sys.argv = [self._module, *map(str, (connection, *passed)), *arguments]
            self._run()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _tell_of_the_dead(self) -> None:
        dead = {}
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                dead[ended[0]] = os.waitstatus_to_exitcode(ended[1])
        for pid, code in dead.items():
            tag = self._workers.pop(pid, None)
            if tag is not None:
                self._end_strays(tag)
                self._tell({"ended": tag, "code": code})

    def _end_strays(self, tag: str) -> None:
        """Ends what a dead worker left: adopted by now, and of its tag, or of the template's if it ran no program."""
        for stray in psutil.Process().children():
            with suppress(psutil.Error):
                if stray.pid not in self._workers and stray.environ().get(TAG) in (tag, os.environ.get(TAG)):
                    stray.kill()

    def _end(self, pids: Sequence[int]) -> None:
        """Kills these workers with all that descends from them."""
        for pid in pids:
            descendants = psutil.Process(pid).children(recursive=True) if psutil.pid_exists(pid) else []
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # of one that has no group of its own yet
            for descendant in descendants:
                with suppress(psutil.Error):
                    descendant.kill()

    def end_all(self) -> None:
        self._end(list(self._workers))
        while strays := [one for one in psutil.Process().children(recursive=True) if not _is_dead(one)]:
            for stray in strays:
                with suppress(psutil.Error):
                    stray.kill()
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)

    def _tell(self, message: dict[str, object]) -> None:
        with suppress(OSError):  # nobody listens any more, which is noticed when it asks
            self._control.send(json.dumps(message).encode())


def _import(modules: Sequence[str]) -> None:
    """Imports what workers import sooner or later; what is there only inside of a worker is passed over."""
    for module in modules:
        if module not in sys.modules:
            with suppress(Exception):
                importlib.import_module(module)


def _is_dead(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


class _CampaignGone(BaseException):
    """The process that started this one died."""


def _leave(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _CampaignGone


def main() -> None:
    number, module = sys.argv[1:]
    campaign = os.getppid()
    forks = Forks(socket.socket(fileno=int(number)), module, importlib.import_module(module).main)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the campaign ends its workers when it is done
    adopt_orphans()
    try:
        signal.signal(signal.SIGTERM, _leave)
        die_with(campaign, signal.SIGTERM)  # no more by SIGKILL: there are workers to be ended first
        forks.serve()
    except _CampaignGone:
        pass
    forks.end_all()
    if os.getppid() != campaign:
        clean_up()
    os._exit(0)

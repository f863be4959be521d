"""What foreign code changes of the process is put back after it."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from jostle.foreign import Crash, attempt, meddling
from jostle.process_state import TORCH_DEFAULTS, TimerRanOut, TorchState

CHANGES: dict[str, Callable[[], object]] = {
    "torch's default dtype": lambda: torch.set_default_dtype(torch.float64),
    "torch's default device": lambda: torch.set_default_device("meta"),
    "torch's grad mode": lambda: torch.set_grad_enabled(False),
    "torch's deterministic mode": lambda: torch.set_deterministic_debug_mode("warn"),
    "torch's autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16).__enter__(),
    "torch's number of threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
}
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="a process has none of that there")


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    meddling.clear()
    yield
    meddling.clear()


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_of_torch_is_put_back_and_told(name: str) -> None:
    before = TorchState.now()
    assert not isinstance(attempt(CHANGES[name]), Crash)
    assert TorchState.now() == before and list(meddling) == [name]


def test_every_default_of_torch_is_tried() -> None:
    assert {*TORCH_DEFAULTS, "torch's autocast", "torch's default device"} == set(CHANGES)


def test_a_model_is_built_by_the_dtype_that_its_file_sets() -> None:
    def opened() -> torch.dtype:
        attempt(CHANGES["torch's default dtype"])  # as where the file is imported
        return torch.nn.Linear(1, 1).weight.dtype

    assert attempt(opened) == torch.float64
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("removed", ["torch", None])
def test_modules_that_nobody_can_go_on_without_are_put_back_and_told(removed: str | None) -> None:
    before = sys.modules.copy()
    attempt(sys.modules.clear if removed is None else lambda: sys.modules.pop(removed))
    assert sys.modules == before and list(meddling) == ["Python's modules"]


def test_a_module_of_its_own_may_be_taken_away() -> None:
    sys.modules["of_its_own"] = sys
    attempt(lambda: sys.modules.pop("of_its_own"))
    assert "of_its_own" not in sys.modules and not meddling


@pytest.mark.parametrize("name", ["meta_path", "path_hooks", "path"])
@pytest.mark.parametrize("removed", [list.clear, None])
def test_how_modules_are_found_is_put_back_and_what_was_added_stays(
    name: str, removed: Callable[[list[object]], None] | None
) -> None:
    before, added = [*getattr(sys, name)], "of its own"

    def change() -> None:
        if removed is None:
            setattr(sys, name, None)
        else:
            removed(getattr(sys, name))
            getattr(sys, name).append(added)

    try:
        attempt(change)
        assert [one for one in getattr(sys, name) if one != added] == before and list(meddling) == [f"sys.{name}"]
        assert (added in getattr(sys, name)) == (removed is not None)
    finally:
        getattr(sys, name)[:] = before


@pytest.mark.parametrize(("module", "name"), [(sys, "excepthook"), (threading, "excepthook"), (sys, "unraisablehook")])
def test_hooks_that_nobody_can_call_are_put_back(module: ModuleType, name: str) -> None:
    before = getattr(module, name)
    attempt(lambda: delattr(module, name))
    assert getattr(module, name) is before and list(meddling) == [f"{module.__name__}.{name}"]


@needs_posix
def test_the_umask_is_put_back_and_told_and_one_of_the_users_is_kept() -> None:
    before = os.umask(0o027)
    try:
        for _ in range(2):
            attempt(lambda: os.umask(0o777))
            assert os.umask(0o027) == 0o027
        assert list(meddling) == ["the umask"]
    finally:
        os.umask(before)


@needs_posix
@pytest.mark.parametrize("raises", [False, True])
def test_a_copy_of_the_process_ends_where_foreign_code_does(raises: bool) -> None:
    children = list[int]()

    def fork() -> None:
        children.append(os.fork())
        if raises and not children[-1]:
            raise RuntimeError

    attempt(fork)
    assert os.waitpid(children[0], 0)[1] == 0  # it is this very process that asks, and the copy has ended


@needs_posix
@pytest.mark.parametrize("name", ["ITIMER_VIRTUAL", "ITIMER_PROF", "ITIMER_REAL"])
def test_a_timer_is_stopped_and_told(name: str) -> None:
    timer = getattr(signal, name)
    attempt(lambda: signal.setitimer(timer, 1000, 1000))
    assert signal.getitimer(timer) == (0, 0) and len(meddling) == 1


@needs_posix
def test_a_timer_that_runs_out_while_all_is_put_back_keeps_nothing_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(mask: int, umask: Callable[[int], int] = os.umask) -> int:
        """Called where the umask is put back, after timers were: raises there what our handler of a signal raises."""
        if rings:
            rings.clear()
            raise TimerRanOut("SIGPROF")
        return umask(mask)

    def model() -> None:
        CHANGES["torch's default dtype"]()
        rings.append(True)

    rings, dtype = list[bool](), torch.get_default_dtype()
    monkeypatch.setattr("jostle.process_state.os.umask", late)
    ran = attempt(model)
    assert not isinstance(ran, Crash)
    assert torch.get_default_dtype() == dtype
    assert list(meddling) == ["the timer of SIGPROF", "torch's default dtype"]


@needs_posix
def test_what_is_printed_into_a_stream_that_never_was_reaches_no_file(tmp_path: Path) -> None:
    program = f"""
from jostle.process_state import keep_streams
keep_streams()
with open({str(tmp_path / "file")!r}, "w") as file:
    assert file.fileno() > 2
    print("to nobody", flush=True)
"""
    subprocess.run(["sh", "-c", '"$0" -c "$1" >&- 2>&-', sys.executable, program], check=True)
    assert (tmp_path / "file").read_text() == ""


@needs_posix
def test_logs_of_libraries_follow_a_stream_that_a_model_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.TextIOWrapper(io.FileIO(2, "w", closefd=False)) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        handler = logging.StreamHandler()
        monkeypatch.setattr(logging.getLogger("a library"), "handlers", [handler])
        assert not isinstance(attempt(stream.close), Crash)
        assert handler.stream is sys.stderr and not sys.stderr.closed


CLOSING = """
import os, sys, threading
from pathlib import Path
from jostle.foreign import Crash, attempt
from jostle.process_state import keep_streams
from jostle.storage.files import write_whole

def write():
    while not over.is_set():
        write_whole(Path(sys.argv[1]), b"content")

keep_streams()
over, before = threading.Event(), [os.fstat(1), os.fstat(2)]
writer = threading.Thread(target=write)
writer.start()
try:
    for _ in range(20_000):
        crash = attempt(lambda: [os.close(1), os.close(2)])
        assert not isinstance(crash, Crash), crash
    assert all(os.path.samestat(*pair) for pair in zip(before, [os.fstat(1), os.fstat(2)]))
    print("both are there")
finally:
    over.set()
    writer.join()
"""


@needs_posix
def test_streams_come_back_while_a_thread_opens_files_under_their_numbers(tmp_path: Path) -> None:
    """The system refuses to put a descriptor in the place of one that is just being opened."""
    program = [sys.executable, "-c", CLOSING, str(tmp_path / "file")]
    ended = subprocess.run(program, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "both are there\n"), ended.stderr

"""Work that may wait a little, done in order beside the loop."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from jostle.errors import WriteFailed
from jostle.foreign import Crash, attempt, meddling
from jostle.process_state import keep_streams
from jostle.storage.background_writer import MOST_WAITING, BackgroundWriter
from jostle.storage.files import Appended, write_whole


def test_work_is_done_in_order_and_waited_for() -> None:
    behind, done = BackgroundWriter(), list[int]()
    for number in range(3 * MOST_WAITING):
        behind.do(lambda number=number: (time.sleep(0.001), done.append(number))[1])  # type: ignore[misc]
    behind.wait()
    assert done == list(range(3 * MOST_WAITING))
    behind.close()


@pytest.mark.parametrize("failure", [WriteFailed("full"), KeyError("ours"), MemoryError()])
def test_what_fails_is_told_and_nothing_after_it_is_done(failure: BaseException) -> None:
    behind, done = BackgroundWriter(), list[str]()

    def fail() -> None:
        raise failure

    behind.do(fail)
    for _ in range(2):
        with pytest.raises(type(failure)):
            behind.wait()
    with pytest.raises(type(failure)):
        behind.do(lambda: done.append("after"))
    behind.close()
    assert not done


@pytest.mark.skipif(sys.platform == "win32", reason="a process has no limits there")
@pytest.mark.parametrize("limit", ["RLIMIT_NOFILE", "RLIMIT_FSIZE"])
def test_what_a_model_takes_from_the_process_while_it_runs_is_waited_for(limit: str, tmp_path: Path) -> None:
    import resource

    behind, log = BackgroundWriter(), Appended(tmp_path / "log")
    _, hard = resource.getrlimit(getattr(resource, limit))

    def write() -> None:
        write_whole(tmp_path / "whole", b"whole", synced=True)
        log.append(b"line")

    def model() -> None:
        resource.setrlimit(getattr(resource, limit), (0, hard))
        behind.do(write)
        time.sleep(0.2)  # time enough for the writer to fail; where it is not, it writes when the limit is back

    assert not isinstance(attempt(model), Crash)
    behind.wait()
    behind.close()
    assert ((tmp_path / "whole").read_bytes(), (tmp_path / "log").read_bytes()) == (b"whole", b"line")
    meddling.clear()


@pytest.mark.parametrize("stream", [1, 2])
def test_nothing_is_written_under_the_number_of_a_stream_that_a_model_closed(stream: int, tmp_path: Path) -> None:
    keep_streams()
    behind, log = BackgroundWriter(), Appended(tmp_path / "log")
    led_to = os.fstat(stream)

    def write() -> None:
        write_whole(tmp_path / "whole", b"whole", synced=True)
        log.append(b"line")

    def model() -> None:
        os.close(stream)
        behind.do(write)
        while not is_open(stream):  # by the writer, whose next file has the lowest number that is free
            time.sleep(0.001)

    assert not isinstance(attempt(model), Crash)
    behind.wait()
    behind.close()
    assert os.path.samestat(os.fstat(stream), led_to)
    assert ((tmp_path / "whole").read_bytes(), (tmp_path / "log").read_bytes()) == (b"whole", b"line")
    meddling.clear()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True

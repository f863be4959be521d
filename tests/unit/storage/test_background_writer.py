"""Work that may wait a little, done in order beside the loop."""

from __future__ import annotations

import time

import pytest

from jostle.errors import WriteFailed
from jostle.storage.background_writer import MOST_WAITING, BackgroundWriter


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

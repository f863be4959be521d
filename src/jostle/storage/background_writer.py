"""Work that may wait a little, done in order beside the loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

MOST_WAITING = 4  # pieces, then the loop waits for the disk

Work = Callable[[], None]


class BackgroundWriter:
    """One thread that does what it is given, one after another.

    When something fails, what comes after it is not done, and the failure is raised where more is given or waited for.
    """

    def __init__(self) -> None:
        self._waiting: queue.Queue[Work | None] = queue.Queue(MOST_WAITING)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def do(self, work: Work) -> None:
        self._raise_failure()
        self._waiting.put(work)

    def wait(self) -> None:
        """Until all is done."""
        self._waiting.join()
        self._raise_failure()

    def close(self) -> None:
        """Until nothing is being done any more, whether it failed or not; nothing more can be given."""
        self._waiting.put(None)
        self._thread.join()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            try:
                if self._failure is None:
                    work()
            except BaseException as failure:  # to be raised by `do` or `wait`
                self._failure = failure
            finally:
                del work  # and what it holds, while waiting for more
                self._waiting.task_done()

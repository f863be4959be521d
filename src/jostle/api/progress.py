"""How far a call has come: a bar on terminals and in notebooks, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, TypeVar

from jostle.campaign import Budget
from jostle.interfaces import Listener
from jostle.progress import Progress
from jostle.step_records import StepRecord, Summary

SECONDS_BETWEEN = 0.25
Part = TypeVar("Part", bound=Sized)


class NotebookLine:
    """One line below a cell, written over as it changes and taken away in the end."""

    def __init__(self) -> None:
        self._handle = import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, share: float, text: str) -> None:
        self._handle.update({"text/plain": f"{share:4.0%}  {text}"}, raw=True)

    def close(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)


class TerminalBar:
    """A bar at the foot of a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), TextColumn("{task.percentage:3.0f}%  {task.description}"), TimeRemainingColumn())
        self._bar = Progress(*columns, transient=True, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def show(self, share: float, text: str) -> None:
        self._bar.update(self._task, completed=share, description=text)

    def close(self) -> None:
        self._bar.stop()


class CampaignBar:
    """Shows what a campaign does before, while and after it spends its budget, and how far it is with it."""

    def __init__(self, quiet: bool = False):
        self._shown = 0.0
        self._place = None if quiet else _place()

    def __enter__(self) -> CampaignBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._place is not None:
            self._place.close()

    def working(self, doing: str) -> Progress:
        """Shows how many inputs of some work are done."""
        return partial(self._through, doing)

    def spending(self, budget: Budget) -> Listener:
        """Shows the share of the budget that is spent, executions, rate and findings."""
        return partial(self._spent, budget)

    def _through(self, doing: str, parts: Iterable[Part], count: int) -> Iterator[Part]:
        done, self._shown = 0, 0.0
        for part in parts:
            self._show(done / max(count, 1), f"{doing}, {done:,} of {count:,}")
            yield part
            done += len(part)

    def _spent(self, budget: Budget, record: StepRecord) -> None:
        self._show(_share(budget, record.so_far), _told(record.so_far))

    def _show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if self._place is not None and now - self._shown >= SECONDS_BETWEEN:
            self._shown = now
            self._place.show(share, text)


def _share(budget: Budget, so_far: Summary) -> float:
    """Of the budget, whichever is nearest to its end."""
    found = sum(so_far.findings.values())
    pairs = ((budget.seconds, so_far.seconds), (budget.executions, so_far.executions), (budget.findings, found))
    return min(1.0, max((spent / limit for limit, spent in pairs if limit), default=0.0))


def _told(so_far: Summary) -> str:
    rate, found = so_far.executions / max(so_far.seconds, 1e-9), sum(so_far.findings.values())
    return f"{so_far.executions:,} inputs, {rate:,.0f}/s, {found:,} {'finding' if found == 1 else 'findings'}"


def _place() -> NotebookLine | TerminalBar | None:
    if _in_notebook():
        with suppress(ImportError):
            return NotebookLine()
    return TerminalBar() if sys.stderr.isatty() else None


def _in_notebook() -> bool:
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")

"""How far a campaign has come: a bar on terminals and in notebooks, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any

from jostle.campaign import Budget
from jostle.records import StepRecord, Summary

SECONDS_BETWEEN = 0.25


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
    """A listener that shows the share of the budget that is spent, executions, rate and findings."""

    def __init__(self, budget: Budget, quiet: bool = False):
        self._budget, self._shown = budget, 0.0
        self._place = None if quiet else _place()

    def __enter__(self) -> CampaignBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._place is not None:
            self._place.close()

    def __call__(self, record: StepRecord) -> None:
        now = time.monotonic()
        if self._place is None or now - self._shown < SECONDS_BETWEEN:
            return
        self._shown = now
        self._place.show(self._share(record.so_far), _told(record.so_far))

    def _share(self, so_far: Summary) -> float:
        """Of the budget, whichever is nearest to its end."""
        budget, found = self._budget, sum(so_far.findings.values())
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

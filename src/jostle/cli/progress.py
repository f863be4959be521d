"""A progress bar for data that is read once, on a terminal; elsewhere nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from jostle.records import Seeds


class Rate(ProgressColumn):
    """Inputs per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def shown(console: Console, doing: str, parts: Iterator[Seeds], count: int) -> Iterator[Seeds]:
    """The same parts, with a bar of how many inputs they held so far, the rate and the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=count)
        for part in parts:
            yield part
            bar.advance(task, len(part))

"""A progress bar for data that is read once, on a terminal; elsewhere nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

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

Part = TypeVar("Part", bound=Sized)


class Rate(ProgressColumn):
    """Inputs per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def shown(console: Console, doing: str, parts: Iterable[Part], count: int) -> Iterator[Part]:
    """The same parts, with a bar of how many inputs they held so far, the rate and the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=count)
        for part in parts:
            yield part
            bar.advance(task, len(part))

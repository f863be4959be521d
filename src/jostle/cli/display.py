"""Showing a running campaign: a live panel on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from jostle.campaign import Budget
from jostle.step_records import COUNTED_INPUTS, StepRecord, Summary, WorkersSoFar
from jostle.triage.words import counted

REFRESHES_PER_SECOND = 4
SECONDS_BETWEEN_LINES = 10.0
MOST_RATES = 8  # that are told one by one
LEAST_UNASSESSED = 0.005  # share of executions that is worth a word
SHARES = ("covered", "ceiling", "buckets", "ranks")  # figures that read best in per cent


class Display:
    """A listener that shows executions, rate, coverage, corpus, findings by kind and the time left."""

    def __init__(self, console: Console, budget: Budget):
        self._console, self._budget = console, budget
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._shown = 0.0

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Takes the panel from the terminal."""
        if self._live is not None:
            self._live.stop()

    def __call__(self, record: StepRecord) -> None:
        now = time.monotonic()
        if now - self._shown < (1 / REFRESHES_PER_SECOND if self._live else SECONDS_BETWEEN_LINES):
            return
        self._shown = now
        figures = self._figures(record)
        if self._live is not None:
            self._live.update(_table(figures), refresh=True)
        else:
            self._console.print(
                " · ".join(f"{name} {value}" for name, value in figures.items()), highlight=False, soft_wrap=True
            )

    def _figures(self, record: StepRecord) -> dict[str, str]:
        so_far = record.so_far
        rate = so_far.executions / max(so_far.seconds, 1e-9)
        return {
            "executions": f"{so_far.executions:,}",
            "rate": rate_text(rate),
            "coverage": coverage_text(so_far.coverage),
            "corpus": corpus_text(so_far.corpus, so_far.admission_rate),
            "findings": findings_text(so_far.findings),
            "time left": self._time_left(so_far, rate),
            **({} if so_far.workers is None else {"workers": workers_text(so_far.workers)}),
        }

    def _time_left(self, so_far: Summary, rate: float) -> str:
        left = []
        if self._budget.seconds is not None:
            left.append(self._budget.seconds - so_far.seconds)
        if self._budget.executions is not None:
            left.append((self._budget.executions - so_far.executions) / max(rate, 1e-9))
        return f"{max(0, min(left)):,.0f} s" if left else "no limit"


def rate_text(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def workers_text(workers: WorkersSoFar) -> str:
    """Their rates, who was silent longest, what synchronising takes and leaves out, and who died."""
    if not workers.rates:
        return "starting"
    rates = ", ".join(rate_text(rate) for rate in list(workers.rates.values())[:MOST_RATES])
    more = ", …" if len(workers.rates) > MOST_RATES else ""
    unassessed = f", {workers.unassessed:.0%} not assessed" if workers.unassessed >= LEAST_UNASSESSED else ""
    died = f", {counted(workers.lost, 'worker')} replaced" if workers.lost else ""
    return (
        f"{len(workers.rates)} ({rates}{more}), oldest synchronisation {workers.oldest:.1f} s ago, "
        f"{workers.synchronising:.1%} of the time for it{unassessed}{died}"
    )


def corpus_text(entries: int, admission_rate: float) -> str:
    return f"{counted(entries, 'input')} ({admission_rate:.2%} of the mutants kept)"


def coverage_text(coverage: Mapping[str, Mapping[str, float]], counted: str | None = None) -> str:
    """Figures by criterion on one line, and which inputs they count where that is known."""
    parts = [
        f"{name}: " + ", ".join(f"{key} {figure_text(key, value)}" for key, value in figures.items())
        for name, figures in coverage.items()
    ]
    told = "" if counted is None else f" (of {COUNTED_INPUTS[counted]})"
    return "; ".join(parts) + told if parts else "unguided"


def failing_text(kept: int, failing: int) -> str:
    """How many failing tests a campaign met, and how many of those it kept."""
    if kept == failing:
        return f"{failing:,}, all kept"
    return f"{failing:,}, {kept:,} of them kept (--keep-failing)"


def figure_text(name: str, value: float) -> str:
    if name in SHARES:
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def findings_text(findings: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(findings.items())) or "none"


def _table(figures: dict[str, str]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in figures.items():
        table.add_row(f"[bold]{name}[/bold]", value)
    return table

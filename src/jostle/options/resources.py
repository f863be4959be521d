"""Options of what a campaign may use: time, inputs at once, threads, memory, and a process for the model."""

from __future__ import annotations

from dataclasses import dataclass

from jostle.options.declaration import Derived, Facts, Theme, option
from jostle.options.kinds import BYTES, COUNT, DURATION, FLAG, HELD_OR_AUTO, TEXT, choice, duration, whole, whole_or

DEFAULT_BUDGET = 60.0  # seconds
FIRST_BATCH, LARGEST_STEP = 256, 2048  # rows that run at once, and that a step has at most, where that is left open
STEP_BYTES = 2**24  # that inputs, or answers, of more rows than the first take at most
OFF, AUTO, STRICT = SANDBOXES = ("off", "auto", "strict")  # of the model's own process
WAITED = duration(20 * 86_400.0)  # what one call of the system waits at most
MOST_THREADS = 1024
MOST_WORKERS = 4096
THREADS = whole_or("auto", 1, MOST_THREADS)


@dataclass(frozen=True)
class BudgetOptions:
    """When a campaign stops."""

    budget: float | None = option(
        DURATION,
        "Time such as 60s, 10m, 2h",
        Theme.FIRST,
        default=Derived(lambda facts: _default_budget(facts), "60s unless --executions"),
        may_change=True,
    )
    executions: int | None = option(
        COUNT, "Inputs to run, or models of frameworks; seeds count too", Theme.FIRST, may_change=True
    )
    findings: int | None = option(COUNT, "Stop after the step that reaches so many", Theme.BUDGET, may_change=True)
    max_disk: int | None = option(
        BYTES, "Stop after the step that fills the campaign folder so far: 500M, 2G", Theme.BUDGET, may_change=True
    )


def _default_budget(facts: Facts) -> float | None:
    return None if "executions" in facts.given else DEFAULT_BUDGET


@dataclass(frozen=True)
class BatchOptions:
    """How many inputs run at once, and how many a step has."""

    batch: int | str = option(
        HELD_OR_AUTO,
        f"Inputs run at once, and in a step; auto: {FIRST_BATCH}, and later steps of up to {LARGEST_STEP:,} small ones",
        Theme.BUDGET,
        default="auto",
    )

    @property
    def rows(self) -> int:
        """How many run at once, whatever a campaign has run before."""
        return FIRST_BATCH if isinstance(self.batch, str) else self.batch

    def largest_step(self, row_bytes: int) -> int:
        """How many a step of a campaign may run at most, of which each row takes so many bytes."""
        if not isinstance(self.batch, str):
            return self.batch
        return max(FIRST_BATCH, min(LARGEST_STEP, STEP_BYTES // max(row_bytes, 1)))


@dataclass(frozen=True)
class ThreadOptions:
    """How many threads the model runs on."""

    threads: int | str = option(
        THREADS,
        "Threads that the model runs on; auto: one, or all where measuring shows that they are clearly faster",
        Theme.BUDGET,
        default="auto",
        may_change=True,
    )

    @property
    def number(self) -> int | None:
        """How many, None where measuring shall tell."""
        return None if isinstance(self.threads, str) else self.threads


@dataclass(frozen=True)
class ScaleOptions:
    """How many processes do the steps of a campaign, and where."""

    workers: int | None = option(
        whole(1, MOST_WORKERS),
        "Processes that do the campaign's steps, each with a model of its own (jostle[ray])",
        Theme.BUDGET,
        may_change=True,
    )
    ray_address: str | None = option(
        TEXT,
        "Cluster of Ray whose machines run the workers: HOST:PORT, ray://HOST:PORT or auto (this machine alone)",
        Theme.BUDGET,
        may_change=True,
    )

    @property
    def number(self) -> int | None:
        """Of workers, None where the campaign does its steps itself."""
        return 1 if self.workers is None and self.ray_address is not None else self.workers


@dataclass(frozen=True)
class CorpusOptions:
    """How much of the corpus is in memory."""

    corpus_memory: int = option(
        BYTES,
        "Most memory for the inputs of the corpus; older ones beyond it are on the disk of the campaign folder",
        Theme.BUDGET,
        default=2**30,
        may_change=True,
    )


@dataclass(frozen=True)
class IsolationOptions:
    """The model's own process."""

    isolate: bool | None = option(
        FLAG,
        "Run the model in a process of its own (model files: yes)",
        Theme.SAFETY,
        flags="--isolate/--no-isolate",
        may_change=True,
        consents=(False,),
    )
    sandbox: str = option(
        choice(lambda: SANDBOXES),
        "Keep the model's own process from writing files, network and signals: auto (model files), strict (all), off",
        Theme.SAFETY,
        default=AUTO,
        may_change=True,
        consents=(OFF,),
    )
    timeout: float | None = option(
        WAITED, "Longest time for a batch in the model's own process (5m)", Theme.SAFETY, may_change=True
    )
    rss_limit: int | None = option(
        BYTES,
        "Most memory of the model's own process, such as 2G (3/4 of the machine's)",
        Theme.SAFETY,
        may_change=True,
    )

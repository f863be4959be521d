"""A campaign with all that stands around it, and the one way to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from jostle.campaign import Budget, Campaign
from jostle.foreign import meddling
from jostle.freed_memory import keep_freed_memory
from jostle.interfaces import Listener
from jostle.progress import Progress, quietly
from jostle.step_records import History, Summary
from jostle.storage.archive import Archive, closed_after
from jostle.triage.deadline import never
from jostle.triage.gate import Gate
from jostle.triage.words import counted

SPENT_BEFORE = "the budget was spent before, so {}: give more to go on"


class Finisher(Protocol):
    """Completes the findings of a campaign when its budget is spent; those completed before are left alone."""

    def outlook(self) -> str:
        """What is about to be done, and how long it takes at most where that is known; "" where nothing is."""

    def finish(self, progress: Progress = quietly, stopped: Callable[[], bool] = never) -> int:
        """Ends after the findings under way once somebody asked to stop; how many findings were finished."""


@dataclass(frozen=True)
class Session:
    """A campaign in its folder, ready to run."""

    campaign: Campaign
    archive: Archive
    history: History | None
    budget: Budget
    finisher: Finisher
    close: Callable[[], None]  # ends the models' process
    dismiss: Callable[[], None] = lambda: None  # ends workers that did its steps
    max_disk: int | None = None  # bytes
    report: bool = False  # a page is wanted when it is over
    gate: Gate | None = None  # what makes it fail, other than any finding
    introduction: tuple[str, ...] = ()  # what a person should know before it runs
    warnings: tuple[str, ...] = ()
    spent_before: str = SPENT_BEFORE  # what to say when nothing was left to do
    nothing_to_mutate: str = "every seed violates an oracle, so there was nothing to mutate"
    first: Listener | None = None  # told of each step before the archive
    last: Listener | None = None  # told of each step after everybody
    summary_rows: Mapping[str, str] = field(default_factory=dict)  # what to say besides the summary, by heading
    nothing_found: Callable[[Summary], str] | None = None  # what was tried, of a campaign without findings
    figures: Callable[[], Mapping[str, object]] = field(default=dict)  # for programs, besides the summary
    remarks: Callable[[], Iterable[str]] = field(default=tuple)  # what there is to say of those

    @property
    def full(self) -> bool:
        """Whether the campaign's folder has reached the size that it may have."""
        used = self.archive.used + self.campaign.corpus.on_disk
        return self.max_disk is not None and used >= self.max_disk

    def search(self, listeners: Sequence[Listener] = ()) -> Summary:
        """Runs the campaign into its folder, from where an earlier run stopped; findings are left unfinished."""
        keep_freed_memory()
        everybody = [self.first, self.archive, *listeners, self.last]
        try:
            return self.campaign.run(
                self.history,
                listeners=[one for one in everybody if one is not None],
                redone=self.archive.repair,
                full=lambda: self.full,
            )
        finally:
            self.dismiss()

    def release(self) -> None:
        """Ends workers and the models' process, and lets another process go on with the campaign."""
        self.dismiss()
        self.close()
        self.campaign.corpus.close()
        self.archive.release()

    @contextmanager
    def closed_after(self) -> Iterator[Session]:
        """Closes the campaign's folder after the block, and ends the workers however that is left."""
        try:
            with closed_after(self.archive):
                yield self
        finally:
            self.release()


@dataclass(frozen=True)
class Ended:
    """How a run of a session ended."""

    summary: Summary
    ran: int  # inputs that this run executed
    full: bool  # the folder has reached its size
    stopped: bool  # somebody asked for it
    finished: int = 0  # findings that this run finished

    @property
    def nothing_ran(self) -> bool:
        """Whether no input ran, or none but seeds because every worker died before it had done a step."""
        workers = self.summary.workers
        return not self.ran or (workers is not None and workers.lost > 0 and not self.summary.steps)

    def as_json(self, session: Session) -> dict[str, Any]:
        return {**self.summary.as_json(), **session.figures(), "out": str(session.archive.folder)}


def remarks_on(session: Session, ended: Ended) -> Iterator[str]:
    """What whoever asked for a run should know about how it ended; that it was stopped they know."""
    yield from session.remarks()
    if meddling:
        changed = ", ".join(meddling)
        yield f"the model changed its process ({changed}), which was put back: --isolate gives it one of its own"
        meddling.clear()  # told
    workers = ended.summary.workers
    if workers is not None and workers.lost:
        died = f"{counted(workers.lost, 'worker')} died and {'was' if workers.lost == 1 else 'were'} replaced"
        yield f"{died}; of their work at most the last {workers.lost_seconds:.1f} s were not handed over and are lost"
        yield "if it is the model that ends its process, --isolate makes a finding of that"
    if ended.full:
        yield f"{session.archive.folder} has reached --max-disk: give more to go on"
    elif not ended.ran and not ended.stopped:
        left_open = f"this run only finished {counted(ended.finished, 'finding')} that had been left open"
        done = left_open if ended.finished else "nothing more ran"
        yield session.spent_before.format(done)
    if not ended.summary.corpus:
        yield session.nothing_to_mutate


def run(
    session: Session,
    listeners: Sequence[Listener] = (),
    stopped: Callable[[], bool] = never,
    searched: Callable[[Summary], None] = lambda summary: None,
    progress: Progress = quietly,
) -> Ended:
    """Runs the campaign, finishes its findings unless it was stopped, and closes its folder.

    `searched` is told when the search is over and findings are about to be finished.
    """
    finished = 0
    with session.closed_after():
        summary = session.search(listeners)
        full = session.full  # before the log is emptied, which makes room again
        session.archive.conclude(summary)
        searched(summary)
        if summary.findings and not stopped():  # else the same command does it when it goes on
            finished = session.finisher.finish(progress, stopped)
    before = session.history.executions if session.history else 0
    return Ended(summary, summary.executions - before, full, stopped(), finished)

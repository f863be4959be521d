"""Runs any session with a display, prints what came of it, and says how it ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console

from jostle.cli.display import Display
from jostle.cli.progress import shown
from jostle.cli.summary import print_summary
from jostle.cli.terminal import Exit, output, say, tell
from jostle.commands.triage import triage
from jostle.interfaces import Listener
from jostle.progress import Progress
from jostle.session.interrupts import stopping_gently
from jostle.session.session import Ended, Session, remarks_on, run
from jostle.step_records import StepRecord, Summary
from jostle.triage.gate import Excess

# Opens a session; the progress is of what takes long before it can run, and lines can be said.
Open = Callable[[Progress, Callable[[str], None]], Session]


def run_session(open_session: Open, as_json: bool) -> Exit:
    """Opens a session, runs it and reports."""
    console, moving = Console(stderr=True), Console(stderr=True, quiet=as_json)
    with _models_speak_to_stderr(as_json):
        session = open_session(partial(shown, moving, "profiling"), partial(say, moving))
    quarantine = session.archive.quarantine
    for warning in (*session.warnings, *quarantine.warnings):
        say(console, f"warning: {warning}")
    for line in _introduction(session):
        say(moving, line)
    said = len(quarantine.warnings)
    display = Display(moving, session.budget)

    def searched(summary: Summary) -> None:
        display.close()
        for warning in quarantine.warnings[said:]:
            say(console, f"warning: {warning}")
        outlook = session.finisher.outlook() if summary.findings and not asked.stop else ""
        if outlook:
            say(moving, f"finishing {outlook}")

    with _models_speak_to_stderr(as_json), display, stopping_gently(tell, session.campaign.stop) as asked:
        listeners: list[Listener] = [display, FutilityWarning(console)]
        ended = run(session, listeners, lambda: asked.stop, searched, partial(shown, moving, "finishing findings"))
    for line in remarks_on(session, ended):
        say(console, line)
    if ended.stopped:
        say(console, "interrupted; the same command goes on from here")
    found_nothing = ended.summary.corpus and not ended.summary.findings and not ended.nothing_ran
    if session.nothing_found is not None and found_nothing:
        say(moving, session.nothing_found(ended.summary))
    excesses = _report(session, ended, as_json)
    for excess in excesses or ():
        say(console, f"fails: {excess}")
    return _exit(ended, excesses)


class FutilityWarning:
    """A listener that warns, once each, of transformations of which hardly a try succeeds."""

    def __init__(self, console: Console):
        self._console = console
        self._warned: set[str] = set()

    def __call__(self, record: StepRecord) -> None:
        for name, line in record.so_far.in_vain.items():
            if name not in self._warned:
                self._warned.add(name)
                say(self._console, f"warning: {line}")


def _models_speak_to_stderr(as_json: bool) -> AbstractContextManager[object]:
    """What a model prints does not stand beside the one object on standard output."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def _introduction(session: Session) -> Iterator[str]:
    yield from session.introduction
    if session.history is not None:
        yield f"going on after {session.history.executions:,} executions"


def _report(session: Session, ended: Ended, as_json: bool) -> list[Excess] | None:
    """Prints what was found; what fails of it is returned, None where any finding does."""
    folder = session.archive.folder
    result = triage(folder)
    excesses = None if session.gate is None else session.gate.excesses(result.defects)
    page = _page(folder) if session.report else None
    if as_json:
        failing = {} if excesses is None else {"fails": [asdict(one) for one in excesses]}
        more = {} if page is None else {"report": str(page)}
        print(json.dumps({**ended.as_json(session), "defects": len(result.defects), **failing, **more}))
        return excesses
    print_summary(output(), ended.summary, result, session.summary_rows)
    if page is not None:
        say(output(), f"report: {page} (open it in a browser)")
    return excesses


def _page(folder: Path) -> Path:
    from jostle.commands.report import write_report  # here, because most campaigns write none

    return write_report(folder)


def _exit(ended: Ended, excesses: list[Excess] | None) -> Exit:
    """Findings on record count, also those of earlier runs; without any, only a run that ran something is clean.

    Where a gate was asked for, those count that it does not let pass.
    """
    if ended.stopped:
        return Exit.INTERRUPTED
    if ended.summary.findings if excesses is None else excesses:
        return Exit.FINDINGS
    return Exit.NOTHING_RAN if ended.nothing_ran else Exit.CLEAN

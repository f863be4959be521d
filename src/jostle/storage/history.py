"""Where an earlier run of a campaign stopped, read from its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jostle.errors import OutputRefused
from jostle.records import Bug, Candidates, Seeds, all_rows
from jostle.step_records import History, PastStep, summed
from jostle.storage.findings import FINDINGS, FLAKY, is_whole, recorded
from jostle.storage.journal import JOURNAL, REPAIR, Journal, read_journal
from jostle.storage.quarantine import Quarantine
from jostle.storage.repair import (
    entries_path,
    read_entries,
    repair_corpus,
    repair_failing,
    repair_journal,
    set_findings_aside,
)
from jostle.storage.status import seconds_spent

Bugs = frozenset[Bug]


def read_history(folder: Path, seeds: Seeds, quarantine: Quarantine | None = None) -> History | None:
    """What the journal in this folder says, None if no step was finished; the folder is put in order on the way."""
    quarantine = quarantine or Quarantine(folder)
    set_findings_aside(folder, quarantine, partial(is_whole, shape=seeds.inputs.shape[1:]))
    journal = repair_journal(folder, quarantine)
    if not journal.lines:
        return None
    lost = repair_corpus(folder, journal, seeds, quarantine)
    failing_lost = repair_failing(folder, journal, quarantine)
    last = journal.lines[-1].step
    steps = [line.past_step(line.step in lost, line.step in failing_lost) for line in journal.lines]
    done_again = not any(line.by for line in journal.lines)  # nobody does again what one of several workers did
    bugs, flaky = (_bugs(folder / name, last if done_again else None) for name in (FINDINGS, FLAKY))
    return _history(folder, seeds, journal, steps, bugs, flaky, seconds_spent(folder))


def copied_history(folder: Path, seeds: Seeds, bugs: Bugs, flaky: Bugs, seconds: float) -> History:
    """What a copy of another folder's journal and corpus says; findings are told, because they are not copied."""
    journal = read_journal(folder / JOURNAL)
    steps = [line.past_step(lost=False, failing_lost=False) for line in journal.lines]
    return _history(folder, seeds, journal, steps, bugs, flaky, seconds)


def _history(
    folder: Path,
    seeds: Seeds,
    journal: Journal,
    steps: Sequence[PastStep],
    bugs: Bugs,
    flaky: Bugs,
    seconds: float,
) -> History:
    return History(
        steps=tuple(steps),
        seconds=seconds,
        kept=partial(_kept_by, folder, seeds),
        bugs=bugs,
        flaky=flaky,
        findings=Counter(kind for kind, _ in bugs),
        violations=summed(line.violations for line in journal.lines),
        unconfirmed=summed(line.unconfirmed for line in journal.lines),
        failing_kept=sum(line.failing for line in journal.lines),
    )


def _kept_by(folder: Path, seeds: Seeds, steps: Sequence[PastStep]) -> Candidates:
    """What these steps kept, whose files were looked at before."""
    parts = [_nothing(seeds)]
    for past in steps:
        if past.kept:
            entries = read_entries(entries_path(folder, past.step), seeds, past.digest)
            if entries is None:
                raise OutputRefused(f"the corpus in {folder} was changed while it was read: the same command mends it")
            parts.append(entries)
    return Candidates.joined(parts)


def _bugs(findings: Path, last: int | None) -> Bugs:
    """Those known up to a step: a finding of a step that was cut off is found again when that step is done again.

    Without a last step, all that are in the folder.
    """
    return frozenset(record.identity for _, record in recorded(findings) if last is None or record.step <= last)


def _nothing(seeds: Seeds) -> Candidates:
    return seeds.as_candidates().select(all_rows(0))


def read_kept(folder: Path, seeds: Seeds) -> Candidates:
    """What the campaign in this folder has kept so far; changes nothing, so the campaign may be running."""
    path = folder / JOURNAL
    if not path.is_file():
        raise OutputRefused(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to")
    journal = read_journal(path)
    if journal.damaged:
        raise OutputRefused(f"{path} is damaged from step {len(journal.lines)} on: {REPAIR}")
    parts = [_nothing(seeds)]
    for line in journal.lines:
        if line.kept:
            entries = read_entries(entries_path(folder, line.step), seeds, line.digest)
            if entries is None:
                raise OutputRefused(f"the corpus in {folder} is damaged at step {line.step}: {REPAIR}")
            parts.append(entries)
    return Candidates.joined(parts)

"""Records for tests, with everything that a test does not care about filled in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.composition.settle import FUZZ
from jostle.foreign import Crash
from jostle.inputs.geometry import unmoved
from jostle.interfaces import Feedback
from jostle.lineage import Mutation, Untouched
from jostle.mutations import Mutations
from jostle.options.schema import Given
from jostle.records import MODEL, NO_LABEL, TWIN, Candidates, Lesson, Outcome, Seeds, Trace
from jostle.session.finish import InputFinisher
from jostle.session.session import Session
from jostle.step_records import Summary
from jostle.storage.failing_files import FAILING
from jostle.storage.findings import SavedFinding, read_finding, recorded
from jostle.storage.journal import JOURNAL, encode_line, read_journal


def options(**chosen: Any) -> Given:
    """Options of `jostle fuzz` by their names; None leaves one open.

    Findings are not confirmed unless that is asked for, because starting a process takes seconds.
    """
    return FUZZ.parsed({"confirm": False, **chosen})


def run_session(session: Session) -> Summary:
    """Runs a campaign into its folder, and leaves its findings unfinished."""
    with session.closed_after():
        return session.search()


def unhurried(session: Session) -> InputFinisher:
    """What finishes its findings, by a clock that stands still: a busy machine cuts nothing off."""
    assert isinstance(session.finisher, InputFinisher)
    return replace(session.finisher, clock=lambda: 0.0)


NOISE = Mutation(("noise",))
CRASH = Crash(error="ValueError", message="no", where="model.py:forward", traceback="…")


def seeds_of(inputs: Tensor, labels: Tensor | None = None) -> Seeds:
    unknown = torch.full((len(inputs),), NO_LABEL)
    return Seeds(inputs, unknown if labels is None else labels, tuple(f"seed {i}" for i in range(len(inputs))))


def batch_of(inputs: Tensor, labels: Tensor | None = None, references: Tensor | None = None) -> Candidates:
    """Mutants of as many seeds as there are rows, none of them moved."""
    count = len(inputs)
    seeds = seeds_of(inputs.clone() if references is None else references, labels)
    parents, roots = torch.arange(count) + 100, torch.arange(count)
    return Candidates(inputs, seeds, parents, roots, Mutations.all_of(NOISE, count), Untouched(count))


def answered(
    batch: Candidates,
    answers: Tensor,  # [seeds, ...]
    others: Mapping[str, Tensor] | None = None,  # by name, [seeds, ...]
    labels: Tensor | None = None,
) -> Candidates:
    """The same batch, where the model said this of the seeds."""
    labels = batch.seeds.labels if labels is None else labels
    seeds = replace(batch.seeds, answers=answers, other_answers=others or {}, labels=labels)
    return replace(batch, seeds=seeds)


def texts_of(rows: Candidates) -> tuple[str, ...]:
    """The mutation of each row as it is written down."""
    return tuple(map(str, rows.mutations))


def placements_of(rows: Candidates) -> Tensor:
    """How each row was moved [batch, 2, 3]."""
    return unmoved(len(rows)) if isinstance(rows.lineage, Untouched) else rows.lineage.rows


def trace_of(
    output: Tensor,  # [batch, ...]
    twin: Tensor | None = None,
    activations: Mapping[str, Tensor] | None = None,
    metadata: Mapping[str, Tensor] | None = None,
    extremes: Mapping[str, Tensor] | None = None,
    crashed: Sequence[int] = (),
    others: Mapping[str, Tensor] | None = None,
) -> Trace:
    """A trace in which the crashed rows hold NaN everywhere."""
    outcome = torch.full((len(output),), Outcome.OK)
    outcome[list(crashed)] = Outcome.CRASHED

    def blanked(values: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
        copies = {name: value.clone().float() for name, value in (values or {}).items()}
        for value in copies.values():
            value[list(crashed)] = torch.nan
        return copies

    outputs = {MODEL: output} if twin is None else {MODEL: output, TWIN: twin}
    crashes = dict.fromkeys(crashed, CRASH)
    inside = blanked(activations), blanked(extremes), blanked(metadata)
    return Trace(outcome, blanked(outputs), *inside, crashes, others=blanked(others))


def assessed(feedback: Feedback, trace: Trace, roots: Tensor | None = None, seeds: int = 1) -> Tensor:
    """What a feedback says of a trace whose rows descend from one seed, or from those that roots [batch] name."""
    roots = torch.zeros(len(trace.outcome), dtype=torch.int64) if roots is None else roots
    rows = batch_of(torch.zeros(len(roots), 1), references=torch.zeros(len(roots), 1))
    return feedback.assess(replace(rows, seeds=seeds_of(torch.zeros(seeds, 1)), roots=roots), trace)


def lesson(kept: Candidates, gains: Tensor, found: Sequence[Mutation] = ()) -> Lesson:
    """What a step taught that kept these and gained so much [kept, criteria], the model's outputs all zero."""
    return Lesson(kept, gains, trace_of(torch.zeros(len(kept), 1)), tuple(found))


def saved_findings(campaign: Path) -> list[SavedFinding]:
    """Every finding in the folder of a campaign, in order."""
    return [read_finding(place, record) for place, record in recorded(campaign / "findings")]


def forget_failing(campaign: Path) -> None:
    """Makes a campaign's folder one of a version that kept no failing tests besides the findings."""
    journal = campaign / JOURNAL
    lines = read_journal(journal).lines
    journal.write_bytes(b"".join(encode_line(replace(line, failing=0, failing_digest="")) for line in lines))
    shutil.rmtree(campaign / FAILING, ignore_errors=True)

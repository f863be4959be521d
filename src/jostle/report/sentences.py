"""What was tested and what was found, in two sentences for somebody who runs no fuzzer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jostle.storage.defect_record import Defect
from jostle.triage.kinds import kind_words
from jostle.triage.words import counted

NAMED = 3  # kinds in a sentence


@dataclass(frozen=True)
class Workload:
    """What a campaign was run on."""

    subject: str  # "the model lenet5 and its twin int8"
    seeds: int
    executions: int
    seconds: float | None
    of_graphs: bool


def workload_sentence(workload: Workload) -> str:
    during = "" if workload.seconds is None else f" in {duration(workload.seconds)}"
    if workload.of_graphs:
        ran = f"ran {workload.executions:,} generated models{during}"
        return f"The frameworks {workload.subject} {ran}, and their results were compared with exact ones."
    varied = f"{workload.executions:,} inputs, made from {counted(workload.seeds, 'example')}"
    return f"The model {workload.subject} was tested with {varied}{during}."


def found_sentence(defects: Sequence[Defect], findings: int) -> str:
    if not defects:
        return "Nothing was found that it gets wrong."
    total = counted(len(defects), "distinct defect")
    kinds = Counter(one.cause.kind for one in defects).most_common()
    each = [f"{count:,} {kind_words(kind, count)}" for kind, count in kinds[:NAMED]]
    more = sum(count for _, count in kinds[NAMED:])
    listed = joined([*each, *([f"{more:,} of other kinds"] if more else [])])
    shown = f", shown by {counted(findings, 'input')}" if findings > len(defects) else ""
    what = f" ({listed})" if len(kinds) == 1 else f": {listed}"
    return f"Jostle found {total}{shown}{what}; the one to look at first: {_lowered(defects[0].title)}."


def joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _lowered(title: str) -> str:
    """A title within a sentence."""
    title = title.rstrip(".")
    return title[:1].lower() + title[1:] if title[1:2].islower() else title

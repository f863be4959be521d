"""What a test that failed for defects says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jostle.storage.defect_record import Defect
from jostle.triage.words import counted
from jostle.visible import log_line, visible

MOST_TOLD = 10  # defects in one message


def failure_text(defects: Sequence[Defect], below: Callable[[Defect], Sequence[str]]) -> str:
    """Each defect in a line, with the lines below it that say how it is seen; how many there are, if several."""
    lines = [counted(len(defects), "defect")] if len(defects) > 1 else []
    for defect in defects[:MOST_TOLD]:
        below_it = (visible(line, kept="") for line in below(defect))  # commands, in which every space counts
        lines += [log_line(f"{defect.cause.kind}: {defect.title}"), *(f"  {line}" for line in below_it)]
    more = len(defects) - MOST_TOLD
    return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])

"""Records for tests, with everything that a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from jostle.foreign import Crash
from jostle.inputs.geometry import unmoved
from jostle.records import MODEL, NO_LABEL, TWIN, Candidates, Lesson, Outcome, Seeds, Trace
from jostle.storage.findings import SavedFinding, read_finding, recorded

CRASH = Crash(error="ValueError", message="no", where="model.py:forward", traceback="…")


def seeds_of(inputs: Tensor, labels: Tensor | None = None) -> Seeds:
    unknown = torch.full((len(inputs),), NO_LABEL)
    return Seeds(inputs, unknown if labels is None else labels, tuple(f"seed {i}" for i in range(len(inputs))))


def batch_of(inputs: Tensor, labels: Tensor | None = None, references: Tensor | None = None) -> Candidates:
    """Mutants of as many seeds as there are rows, none of them moved."""
    count = len(inputs)
    seeds = seeds_of(inputs.clone() if references is None else references, labels)
    parents, roots = torch.arange(count) + 100, torch.arange(count)
    return Candidates(inputs, seeds, parents, roots, ("noise",) * count, unmoved(count))


def trace_of(
    output: Tensor,  # [batch, ...]
    twin: Tensor | None = None,
    activations: Mapping[str, Tensor] | None = None,
    metadata: Mapping[str, Tensor] | None = None,
    extremes: Mapping[str, Tensor] | None = None,
    crashed: Sequence[int] = (),
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
    return Trace(outcome, blanked(outputs), blanked(activations), blanked(extremes), blanked(metadata), crashes)


def lesson(kept: Candidates, gains: Tensor, found: Sequence[str] = ()) -> Lesson:
    """What a step taught that kept these and gained so much [kept, criteria], the model's outputs all zero."""
    return Lesson(kept, gains, trace_of(torch.zeros(len(kept), 1)), tuple(found))


def saved_findings(campaign: Path) -> list[SavedFinding]:
    """Every finding in the folder of a campaign, in order."""
    return [read_finding(place, record) for place, record in recorded(campaign / "findings")]

"""What passes between a campaign and its worker: records as named arrays and plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from jostle.records import Candidates, LayerGaps, Linearised, Outcome, Seeds, Trace

Pull = Callable[[Mapping[str, Tensor], Mapping[str, Tensor]], Tensor]
GROUPS = ("outputs", "others", "activations", "extremes", "metadata")
PASSED = ("scores", "activations", "extremes", "entered")
TRACE = "trace"  # of a pass, where it has one


def batch_arrays(batch: Candidates) -> dict[str, Tensor]:
    """What a target looks at."""
    return {"inputs": batch.inputs, "labels": batch.labels}


def batch_of(arrays: Mapping[str, Tensor]) -> Candidates:
    inputs, labels = arrays["inputs"], arrays["labels"]
    return Seeds(inputs, labels, ("",) * len(inputs)).as_candidates()


def trace_arrays(trace: Trace) -> dict[str, Tensor]:
    """Of a trace without crashes, which a target that raises has not."""
    return grouped({name: getattr(trace, name) for name in GROUPS})


def trace_of(arrays: Mapping[str, Tensor], rows: int, seconds: Mapping[str, float]) -> Trace:
    groups = ungrouped(arrays, GROUPS)
    for name, value in arrays.items():
        if value.shape[:1] != (rows,):
            raise ValueError(f"{name} has shape {list(value.shape)}, not one row for each of {rows} inputs")
    outputs, others, activations, extremes, metadata = (groups[name] for name in GROUPS)
    return Trace(torch.full((rows,), Outcome.OK), outputs, activations, extremes, metadata, {}, seconds, others)


def pass_arrays(passed: Linearised) -> dict[str, Tensor]:
    traced = {} if passed.trace is None else trace_arrays(passed.trace)
    return grouped({**{name: getattr(passed, name) for name in PASSED}, TRACE: traced})


def pass_of(arrays: Mapping[str, Tensor], pull: Pull, rows: int, seconds: Mapping[str, float]) -> Linearised:
    scores, activations, extremes, entered, traced = ungrouped(arrays, (*PASSED, TRACE)).values()
    trace = trace_of(traced, rows, seconds) if traced else None
    return Linearised(scores, activations, extremes, pull, entered, trace)


def gaps_arrays(found: LayerGaps) -> dict[str, Tensor]:
    return {"gaps": found.gaps, "sizes": found.sizes}


def gaps_of(arrays: Mapping[str, Tensor], rows: int, layers: Sequence[Sequence[str]]) -> LayerGaps:
    gaps, sizes = (arrays[name] for name in ("gaps", "sizes"))
    if not gaps.shape == sizes.shape == (rows, len(layers)):
        raise ValueError(f"{len(layers)} layers were compared on {rows} inputs, and {list(gaps.shape)} gaps came back")
    return LayerGaps(tuple((ours, theirs) for ours, theirs in layers), gaps, sizes)


def grouped(groups: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Several groups of named arrays as one."""
    return {f"{group}/{name}": value for group, values in groups.items() for name, value in values.items()}


def ungrouped(arrays: Mapping[str, Tensor], names: tuple[str, ...]) -> dict[str, dict[str, Tensor]]:
    """The groups again."""
    groups: dict[str, dict[str, Tensor]] = {name: {} for name in names}
    for name, value in arrays.items():
        group, _, own = name.partition("/")
        groups[group][own] = value
    return groups

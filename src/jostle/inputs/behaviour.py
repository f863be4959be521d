"""How a model treats a batch: what keeps an input from having one answer of its own, by name and with its fix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from jostle.foreign import Crash, attempt
from jostle.interfaces import ModelTarget
from jostle.traits import Traits

EXAMINED = 8  # rows
ROUNDING = (
    1e-3  # of the largest output: rows of other batches may differ by so much, because sums are ordered otherwise
)
SLIGHT = 0.05  # of the largest output: what the scale of quantised numbers changes
FLAKY = "what shows only in a batch counts as flaky; --batch 1 avoids it"


@dataclass(frozen=True)
class Remark:
    """What the user should know of a model."""

    text: str  # the cause, and the fix
    misleads: bool  # fuzzing the model as it is would mislead


@dataclass(frozen=True)
class ExaminedRows:
    """What comparing the answers to some inputs tells of a model."""

    remarks: tuple[Remark, ...] = ()
    independent: bool = False  # answers were compared, and do not depend on the rest of their batch but for rounding


NOT_COMPARED = ExaminedRows()


def remarks_on_traits(traits: Traits) -> Iterator[Remark]:
    """What is known of a model before its answers are compared."""
    if traits.over_batch and not traits.one_by_one:
        yield Remark(_over_batch(traits), misleads=True)
    elif traits.in_training:
        text = "a layer is in training mode although eval() was called: fix the model's train()"
        yield Remark(text, misleads=True)
    if traits.changes_input:
        text = (
            "the model changes its input in place, so whoever uses the input after it gets other values (it is given "
            "copies here): begin with inputs = inputs.clone(), or with an operation that is not in place"
        )
        yield Remark(text, misleads=False)
    if traits.one_by_one:
        text = "the model accepts one input at a time only, so inputs run one by one, slowly: let it take [batch, ...]"
        yield Remark(text, misleads=False)


def examined_rows(target: ModelTarget, inputs: Tensor, traits: Traits, batch: int) -> ExaminedRows:
    """What comparing the answers to some inputs [rows, ...] that the model accepts tells of it.

    One that runs in batches of this size.
    """
    rows = inputs[:EXAMINED]
    outputs, again = (attempt(partial(target.predict, rows)) for _ in range(2))
    if isinstance(outputs, Crash) or isinstance(again, Crash):
        return NOT_COMPARED  # a batch that fails although its rows do not is the crash oracle's
    if _difference(outputs, again) > _rounding(outputs):
        text = "the model answers differently each time: remove dropout or noise that ignores eval()"
        return ExaminedRows((Remark(text, misleads=True),))
    if batch == 1 or len(rows) == 1 or traits.over_batch:
        return NOT_COMPARED
    alone, reversed_rows = _changes_with_batch(target, rows, outputs)
    remarks = tuple(_on_batch(max(alone or 0.0, reversed_rows or 0.0), outputs, traits))
    compared = alone is not None and reversed_rows is not None
    return ExaminedRows(remarks, compared and not (remarks or traits.in_training or traits.quantised))


def _over_batch(traits: Traits) -> str:
    """Which layer normalises over the batch, and why."""
    layers = _some(traits.over_batch)
    if traits.in_training:
        reason, fix = "in training mode although eval() was called", "fix the model's train()"
    else:
        reason, fix = "without running statistics", "build it with track_running_stats=True and train it again"
    return f"{layers} is {reason} and normalises over the batch, so an input's answer depends on the others: {fix}"


def _on_batch(change: float, outputs: Tensor, traits: Traits) -> Iterator[Remark]:
    """What a change of rows with their batch, as a share of the largest output, says of the model."""
    if change <= _rounding(outputs):
        return
    if traits.quantised:
        text = (
            f"{_some(traits.quantised)} takes its scale from the whole batch (dynamic quantisation), so an input's "
            f"answer differs by up to {change:.1%} with the others: {FLAKY}"
        )
    elif change <= SLIGHT:
        text = (
            f"an input's answer differs by up to {change:.1%} with the others in its batch, as by dynamic "
            f"quantisation: {FLAKY}"
        )
    else:
        text = (
            f"an input's answer depends on the others in its batch, by up to {change:.1%} of the largest output: "
            f"normalise over each input or by statistics of the training data, not over the batch; or give --batch 1"
        )
    yield Remark(text, misleads=not traits.quantised and change > SLIGHT)


def _changes_with_batch(target: ModelTarget, rows: Tensor, outputs: Tensor) -> tuple[float | None, float | None]:
    """The largest change of an output when rows run alone, and in reverse order; None where the model fails then."""
    alone = attempt(lambda: torch.cat([target.predict(row) for row in rows.split(1)]))
    reverse = attempt(lambda: target.predict(rows.flip(0)).flip(0))
    return _change(outputs, alone), _change(outputs, reverse)


def _change(outputs: Tensor, others: Tensor | Crash) -> float | None:
    return None if isinstance(others, Crash) else _difference(outputs, others)


def _difference(one: Tensor, other: Tensor) -> float:
    """The largest difference as a share of the largest output; infinite where only one of two values is finite."""
    finite = one.isfinite() & other.isfinite()
    if not (finite | (one == other) | (one.isnan() & other.isnan())).all():
        return float("inf")
    if not finite.any():
        return 0.0
    one, other = one[finite].double(), other[finite].double()
    largest = max(float(one.abs().max()), float(other.abs().max()))
    return float((one - other).abs().max()) / largest if largest else 0.0


def _rounding(outputs: Tensor) -> float:
    return max(ROUNDING, 16 * torch.finfo(outputs.dtype).eps)  # of half precision a few per cent


def _some(layers: tuple[str, ...]) -> str:
    return layers[0] if len(layers) == 1 else f"{layers[0]} (as {len(layers) - 1} more)"

"""What it means that the outputs of two models agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from jostle.digests import bug_number
from jostle.errors import UsageError
from jostle.options.kinds import FARTHEST, Kind, NotThisName, shown
from jostle.task import NO_LABEL_READING, LabelReading

LABELS, AUTO = "labels", "auto"
ROUNDING = 1e-5  # of the largest score: what another order of sums changes
LEAST_TOLERANCE = 1e-5
FAR_BEYOND = 5.0  # times what differs on the seeds
Difference = tuple[str, str, Mapping[str, Any]]  # what tells it from others, a sentence, details


class Comparison(Protocol):
    """What agreeing means."""

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        """[batch] bool for outputs [batch, values] that are all finite."""

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        """[batch] int64: which bug a row shows if it differs."""

    def describe(self, model: Tensor, twin: Tensor, root: int, name: str) -> Difference:
        """The difference of one row [values] from the twin of this name."""


@dataclass(frozen=True)
class SameTop:
    """The model's k best classes are the twin's, in any order; with k = 1 the same label, unless it is a tie."""

    k: int = 1
    margin: float | None = None  # by which each must prefer its own label; None stands for rounding

    def _best(self, scores: Tensor) -> Tensor:
        """[batch, k] classes, sorted so that sets compare."""
        if self.k > scores.shape[1]:
            raise UsageError(f"--agree top{self.k}: the model has only {scores.shape[1]} outputs")
        return scores.topk(self.k, dim=1).indices.sort(1).values

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        if model.shape[1] == 1:
            raise UsageError("--agree argmax on one output always holds: give a tolerance such as --agree 1e-3")
        if self.k > 1:
            return (self._best(model) != self._best(twin)).any(1)
        ours, theirs = _lead(model, model, twin), _lead(twin, twin, model)
        least = self._least(model)
        both_sure = torch.minimum(ours, theirs) > least
        one_says_nothing = (_all_alike(model) ^ _all_alike(twin)) & (torch.maximum(ours, theirs) > least)
        return (model.argmax(1) != twin.argmax(1)) & (both_sure | one_says_nothing)

    def _least(self, model: Tensor) -> Tensor:
        """[batch] by how much each model must prefer its own answer to the other's, where that is no tie."""
        return ROUNDING * model.abs().amax(1) if self.margin is None else torch.full((len(model),), self.margin)

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        classes = model.shape[1]
        return (roots * classes + model.argmax(1)) * classes + twin.argmax(1)

    def describe(self, model: Tensor, twin: Tensor, root: int, name: str) -> Difference:
        ours, theirs = int(model.argmax()), int(twin.argmax())
        gap = float((model - twin).abs().max())
        leads = [float(_lead(one[None], one[None], other[None])) for one, other in ((model, twin), (twin, model))]
        what = f"model says {ours}, {name} says {theirs}" if self.k == 1 else f"the best {self.k} classes differ"
        summary = f"{what} (margins {leads[0]:.3g} and {leads[1]:.3g}, outputs differ by up to {gap:.3g})"
        details = {"model": model.tolist(), "twin": twin.tolist(), "margins": leads}
        return f"top{self.k}:{root}:{ours}:{theirs}", summary, details


def _all_alike(scores: Tensor) -> Tensor:
    """[batch] bool: of three or more classes none is preferred, as where a quantised model's values are all 0."""
    return (scores.amax(1) == scores.amin(1)) & (scores.shape[1] > 2)


def _lead(scores: Tensor, own: Tensor, other: Tensor) -> Tensor:
    """[batch] by how much scores [batch, classes] put the best class of one model above the other's."""
    labels = torch.stack([own.argmax(1), other.argmax(1)], 1)
    best, rival = scores.gather(1, labels).unbind(1)
    return best - rival


@dataclass(frozen=True)
class Close:
    """Every value is within an absolute and relative tolerance."""

    tolerance: float

    def _excess(self, model: Tensor, twin: Tensor) -> Tensor:
        return (model - twin).abs() - self.tolerance * (1 + torch.maximum(model.abs(), twin.abs()))

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        return (self._excess(model, twin) > 0).any(1)

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        return torch.full_like(roots, bug_number("agree:values"))

    def describe(self, model: Tensor, twin: Tensor, root: int, name: str) -> Difference:
        worst = int(self._excess(model, twin).argmax())
        ours, theirs = float(model[worst]), float(twin[worst])
        summary = f"output {worst} is {ours:.6g} in the model and {theirs:.6g} in {name}"
        return "values", summary, {"output": worst, "model": ours, "twin": theirs}


@dataclass(frozen=True)
class SameLabels:
    """Every score says yes or no as the twin's does."""

    reading: LabelReading

    def _says_yes(self, outputs: Tensor) -> Tensor:
        return outputs > self.reading.cut

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        return (self._says_yes(model) != self._says_yes(twin)).any(1)

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        return roots * model.shape[1] + self._first(model, twin)

    def describe(self, model: Tensor, twin: Tensor, root: int, name: str) -> Difference:
        place = int(self._first(model[None], twin[None]))
        ours, theirs = ("yes" if says else "no" for says in (self._says_yes(model)[place], self._says_yes(twin)[place]))
        summary = f"of label {place} the model says {ours}, {name} {theirs}"
        return f"labels:{root}:{place}", summary, {"model": model.tolist(), "twin": twin.tolist()}

    def _first(self, model: Tensor, twin: Tensor) -> Tensor:
        """[batch] the first label of which they say different things."""
        return (self._says_yes(model) != self._says_yes(twin)).long().argmax(1)


def calibrated(model: Tensor, twin: Tensor) -> float:
    """The tolerance far beyond what answers [seeds, ...] for the seeds differ by."""
    ours, theirs = (answers.double().reshape(len(answers), -1) for answers in (model, twin))
    if ours.shape != theirs.shape:
        return LEAST_TOLERANCE
    relative = (ours - theirs).abs() / (1 + torch.maximum(ours.abs(), theirs.abs()))
    known = relative[relative.isfinite().all(1)]
    return max(LEAST_TOLERANCE, FAR_BEYOND * float(known.max()) if len(known) else 0.0)


def comparison_named(name: str, reading: LabelReading = NO_LABEL_READING, margin: float | None = None) -> Comparison:
    """`argmax`, `topK`, `labels` or a tolerance such as `1e-3`."""
    if name == LABELS:
        return SameLabels(reading)
    if name == "argmax":
        return SameTop(margin=margin)
    if top := re.fullmatch(r"top([1-9][0-9]{0,8})", name):
        return SameTop(int(top[1]), margin)
    try:
        tolerance = float(name)
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance <= FARTHEST:
        raise UsageError(
            f"--agree {name[:40]!r}: give argmax, topK (such as top5), labels, a tolerance (such as 1e-3) or auto"
        )
    return Close(tolerance)


def _comparison(value: Any) -> str:
    """Several are given as a text with commas, or as a list."""
    for name in shown(value).split(","):
        try:
            comparison_named("0" if name == AUTO else name)
        except UsageError as error:
            raise NotThisName(str(error).removeprefix("--agree ")) from error
    return shown(value)


COMPARISON = Kind(
    "TEXT", str, _comparison, ("most", "nan", "top0", "top", "-1", "1e999", "1e31", "top" + "9" * 5000, "argmax,,1e-3")
)

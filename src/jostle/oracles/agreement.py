"""A model and its twin must agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from jostle.digests import bug_number
from jostle.errors import UsageError
from jostle.options.declaration import Derived, Facts, Theme, option
from jostle.options.kinds import Kind, NotThisName, shown
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import MODEL, TWIN, Candidates, Trace, Verdicts, Violation
from jostle.task import NO_LABEL_READING, LabelReading

LABELS = "labels"
# Tolerances of twins that compute or store with fewer bits, by their names.
PRECISIONS = {"float16": "0.01", "weights16": "0.01", "bfloat16": "0.05", "int8": "0.1"}


class Comparison(Protocol):
    """What agreeing means."""

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        """[batch] bool for outputs [batch, values] that are all finite."""

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        """[batch] int64: which bug a row shows if it differs."""

    def describe(self, model: Tensor, twin: Tensor, root: int) -> Violation:
        """The difference of one row [values]."""


@dataclass(frozen=True)
class SameTop:
    """The model's k best classes are the twin's, in any order; with k = 1 the same label."""

    k: int = 1

    def _best(self, scores: Tensor) -> Tensor:
        """[batch, k] classes, sorted so that sets compare."""
        if self.k > scores.shape[1]:
            raise UsageError(f"--agree top{self.k}: the model has only {scores.shape[1]} outputs")
        return scores.topk(self.k, dim=1).indices.sort(1).values

    def differs(self, model: Tensor, twin: Tensor) -> Tensor:
        if model.shape[1] == 1:
            raise UsageError("--agree argmax on one output always holds: give a tolerance such as --agree 1e-3")
        if self.k == 1:
            return model.argmax(1) != twin.argmax(1)
        return (self._best(model) != self._best(twin)).any(1)

    def bugs(self, model: Tensor, twin: Tensor, roots: Tensor) -> Tensor:
        classes = model.shape[1]
        return (roots * classes + model.argmax(1)) * classes + twin.argmax(1)

    def describe(self, model: Tensor, twin: Tensor, root: int) -> Violation:
        ours, theirs = int(model.argmax()), int(twin.argmax())
        gap = float((model - twin).abs().max())
        what = f"model says {ours}, twin says {theirs}" if self.k == 1 else f"the best {self.k} classes differ"
        return Violation(
            "agree",
            f"agree:top{self.k}:{root}:{ours}:{theirs}",
            f"{what} (outputs differ by up to {gap:.3g})",
            {"model": model.tolist(), "twin": twin.tolist()},
        )


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

    def describe(self, model: Tensor, twin: Tensor, root: int) -> Violation:
        worst = int(self._excess(model, twin).argmax())
        ours, theirs = float(model[worst]), float(twin[worst])
        summary = f"output {worst} is {ours:.6g} in the model and {theirs:.6g} in the twin"
        return Violation("agree", "agree:values", summary, {"output": worst, "model": ours, "twin": theirs})


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

    def describe(self, model: Tensor, twin: Tensor, root: int) -> Violation:
        place = int(self._first(model[None], twin[None]))
        ours, theirs = ("yes" if says else "no" for says in (self._says_yes(model)[place], self._says_yes(twin)[place]))
        summary = f"of label {place} the model says {ours}, the twin {theirs}"
        details = {"model": model.tolist(), "twin": twin.tolist()}
        return Violation("agree", f"agree:labels:{root}:{place}", summary, details)

    def _first(self, model: Tensor, twin: Tensor) -> Tensor:
        """[batch] the first label of which they say different things."""
        return (self._says_yes(model) != self._says_yes(twin)).long().argmax(1)


class Agreement:
    """The twin answers as the model does, and is finite where the model is."""

    looks_inside = False
    compares_with_truth = False

    def __init__(self, comparison: Comparison):
        self._comparison = comparison

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        if trace.outputs[MODEL].shape != trace.outputs[TWIN].shape:
            return _misshapen(trace)
        model, twin = (trace.outputs[name].float().unsqueeze(-1).flatten(1) for name in (MODEL, TWIN))
        patterns_differ = _special(model).ne(_special(twin)).any(1)
        comparable = (model.isfinite() & twin.isfinite()).all(1)
        differs = comparable & self._comparison.differs(model, twin)
        pattern = bug_number(FINITE_IN_ONE.fingerprint)
        bugs = torch.where(patterns_differ, pattern, self._comparison.bugs(model, twin, candidates.roots))

        def describe(row: int) -> Violation:
            if patterns_differ[row]:
                return FINITE_IN_ONE
            return self._comparison.describe(model[row], twin[row], int(candidates.roots[row]))

        return Verdicts.where("agree", trace, differs | patterns_differ, bugs, describe)


FINITE_IN_ONE = Violation("agree", "agree:finite", "NaN or infinity stand in one of the twins and not in the other")


def _special(values: Tensor) -> Tensor:
    """0 where finite, and a number of its own for NaN and either infinity."""
    return values.isnan() * 3 + values.isposinf() * 2 + values.isneginf() * 1


def _misshapen(trace: Trace) -> Verdicts:
    ours, theirs = list(trace.outputs[MODEL].shape[1:]), list(trace.outputs[TWIN].shape[1:])
    violation = Violation("agree", "agree:shape", f"the model's outputs have shape {ours}, the twin's {theirs}")
    number = torch.full_like(trace.outcome, bug_number(violation.fingerprint))
    return Verdicts.where("agree", trace, trace.ran, number, lambda row: violation)


def comparison_named(name: str, reading: LabelReading = NO_LABEL_READING) -> Comparison:
    """`argmax`, `topK`, `labels` or a tolerance such as `1e-3`."""
    if name == LABELS:
        return SameLabels(reading)
    if name == "argmax":
        return SameTop()
    if name.startswith("top") and name[3:].isdigit() and int(name[3:]) > 0:
        return SameTop(int(name[3:]))
    try:
        tolerance = float(name)
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < math.inf:
        raise UsageError(f"--agree {name!r}: give argmax, topK (such as top5), labels or a tolerance (such as 1e-3)")
    return Close(tolerance)


def _comparison(value: Any) -> str:
    try:
        comparison_named(shown(value))
    except UsageError as error:
        raise NotThisName(str(error).removeprefix("--agree ")) from error
    return shown(value)


COMPARISON = Kind("TEXT", str, _comparison, ("most", "nan", "top0", "top", "-1", "1e999"))


def _when_twins_agree(facts: Facts) -> str:
    """The same answer where there are labels; else numbers as near as the twin's precision lets them be."""
    if facts.classes:
        return "argmax"
    return LABELS if facts.labels else PRECISIONS.get(str(facts.given.get("twin")).partition(":")[0], "1e-5")


@dataclass(frozen=True)
class AgreementOptions:
    """What it means that two models agree."""

    agree: str = option(
        COMPARISON,
        "When twins agree: argmax, topK, labels (yes or no) or a tolerance like 1e-3",
        Theme.DEFECTS,
        default=Derived(_when_twins_agree, "the same answer, else 1e-5, of fewer bits 0.01 to 0.1"),
    )


def _agreement(settings: Settings, context: PartContext) -> Agreement:
    return Agreement(comparison_named(settings[AgreementOptions].agree, context.reading))


AGREE = Part(first_line(Agreement), _agreement, (AgreementOptions,))

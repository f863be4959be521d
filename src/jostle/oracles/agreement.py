"""A model and its twin must agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.digests import bug_number
from jostle.errors import UsageError
from jostle.held import shown_name
from jostle.options.declaration import Derived, Facts, Theme, option
from jostle.options.kinds import number
from jostle.options.schema import Settings
from jostle.oracles.comparisons import AUTO, COMPARISON, LABELS, Comparison, calibrated, comparison_named
from jostle.part import ComparedWith, Part, PartContext, first_line, kind_beside
from jostle.records import MODEL, TWIN, Candidates, Seeds, Trace, Verdicts, Violation


@dataclass(frozen=True)
class ComparedTwin:
    """The twin that a model is compared with."""

    variant: str = TWIN  # of the outputs
    name: str = TWIN  # in words

    @property
    def kind(self) -> str:
        return kind_beside("agree", self.variant)


class Agreement:
    """The twin answers as the model does, and is finite where the model is."""

    looks_inside = False
    compares_with_truth = False

    def __init__(self, comparison: Comparison, twin: ComparedTwin | None = None):
        self._comparison, self._twin = comparison, twin or ComparedTwin()

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        both = (trace.outputs[MODEL], trace.outputs[self._twin.variant])
        if both[0].shape != both[1].shape:
            return self._misshapen(trace)
        model, twin = (outputs.float().unsqueeze(-1).flatten(1) for outputs in both)
        patterns_differ = _special(model).ne(_special(twin)).any(1)
        comparable = (model.isfinite() & twin.isfinite()).all(1)
        differs = comparable & self._comparison.differs(model, twin)
        bugs = torch.where(patterns_differ, PATTERN, self._comparison.bugs(model, twin, candidates.roots))

        def describe(row: int) -> Violation:
            if patterns_differ[row]:
                name = self._twin.name
                return self._violation("finite", f"NaN or infinity stand in the model or in {name}, and not in both")
            difference = self._comparison.describe(model[row], twin[row], int(candidates.roots[row]), self._twin.name)
            return self._violation(*difference)

        return Verdicts.where(self._twin.kind, trace, differs | patterns_differ, bugs, describe)

    def _violation(self, what: str, summary: str, details: Mapping[str, Any] | None = None) -> Violation:
        kind = self._twin.kind
        return Violation(kind, f"{kind}:{what}", summary, details or {})

    def _misshapen(self, trace: Trace) -> Verdicts:
        ours, theirs = (list(trace.outputs[name].shape[1:]) for name in (MODEL, self._twin.variant))
        summary = f"the model's outputs have shape {ours}, those of {self._twin.name} {theirs}"
        numbers = torch.full_like(trace.outcome, bug_number("agree:shape"))
        return Verdicts.where(self._twin.kind, trace, trace.ran, numbers, lambda row: self._violation("shape", summary))


PATTERN = bug_number("agree:finite")


def _special(values: Tensor) -> Tensor:
    """0 where finite, and a number of its own for NaN and either infinity."""
    return values.isnan() * 3 + values.isposinf() * 2 + values.isneginf() * 1


def _when_twins_agree(facts: Facts) -> str:
    """The same answer where there are labels; else numbers as near as they are on the seeds."""
    if facts.classes:
        return "argmax"
    return LABELS if facts.labels else AUTO


@dataclass(frozen=True)
class AgreementOptions:
    """What it means that two models agree."""

    agree: str = option(
        COMPARISON,
        "When twins agree: argmax, topK, labels (yes or no), a tolerance like 1e-3, or auto (far beyond what differs "
        "on the seeds); of several twins, one for all or one each",
        Theme.DEFECTS,
        default=Derived(_when_twins_agree, "the same answer, else auto"),
    )
    margin: float | None = option(
        number("give a number that is not negative", at_least=0),
        "By how much model and twin must each prefer their own answer for it to count, so that a tie does not "
        "(1e-5 of the largest score)",
        Theme.DEFECTS,
    )


def _settle(settings: Settings, seeds: Seeds) -> Settings:
    """Tolerances in place of auto, so that a finding can be judged without the seeds."""
    options = settings[AgreementOptions]
    asked = options.agree.split(",")
    if len(asked) not in (1, len(seeds.twin_answers)):
        raise UsageError(
            f"--agree {options.agree} says when {len(asked)} twins agree, and there are {len(seeds.twin_answers)}: "
            f"give one for all, or one each"
        )
    if seeds.answers is None or AUTO not in asked:
        return settings
    each = asked if len(asked) > 1 else asked * len(seeds.twin_answers)
    told = [
        f"{calibrated(seeds.answers, answers):.3g}" if how == AUTO else how
        for how, answers in zip(each, seeds.twin_answers.values(), strict=True)
    ]
    return settings.over(replace(options, agree=",".join(told)))


def _agreement(settings: Settings, context: PartContext) -> Agreement:
    options, variant = settings[AgreementOptions], context.compared
    asked = options.agree.split(",")
    how = asked[list(context.twins).index(variant)] if len(asked) > 1 else asked[0]
    name = shown_name(context.twins.get(variant, variant))
    comparison = comparison_named(how, context.reading, options.margin)
    return Agreement(comparison, ComparedTwin(variant, Path(name).name if Path(name).suffix else name))


AGREE = Part(
    first_line(Agreement), _agreement, (AgreementOptions,), _settle, per_twin=True, compares=ComparedWith.VARIANT
)

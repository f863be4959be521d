"""A change that should not matter may not move a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.declaration import Theme, option
from jostle.options.kinds import Kind, shown
from jostle.options.schema import Settings
from jostle.oracles.amounts import ABSOLUTE, SHARE, TIMES, Amount, amount
from jostle.oracles.answers import as_values, finite_rows
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, OnSeeds, Seeds, Trace, Verdicts, Violation

MOST_NEIGHBOURS = 1000  # seeds among which neighbours are sought, spread over all
AT_ONCE = 256  # seeds whose distances to all others are held in memory
SAME = 1e-3  # of a point's distance from the mean: nearer points are the same but for rounding
MOST_DIMENSIONS = 2  # of predictions [batch, values]
TABLE_DIMENSIONS = 2  # seeds, columns
LEAST = 1e-30  # what a tolerance of 0 counts as where moves are measured in tolerances


@dataclass(frozen=True)
class Tolerance:
    """How far predictions may move: by a fixed amount, or by a share of what the model said of the seed."""

    fixed: Tensor  # [values], or [1] for all of them
    share: float = 0.0

    def allowed(self, answers: Tensor) -> Tensor:
        """[batch, values], for answers of that shape."""
        return self.fixed + self.share * answers.abs()


class PredictionKept:
    """The prediction is near what the model said of the seed; one bug per seed, output and direction."""

    looks_inside = False
    compares_with_truth = False

    def __init__(self, tolerance: Tolerance):
        self._tolerance = tolerance

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        before, after = as_values(candidates.answers), as_values(trace.outputs[MODEL])
        allowed = self._tolerance.allowed(before)
        moves = after - before  # [batch, values]
        worst = (moves.abs() / allowed.clamp(min=LEAST)).argmax(1)
        up = moves.gather(1, worst[:, None]).squeeze(1) > 0
        moved = (moves.abs() > allowed).any(1) & finite_rows(before, after)
        bugs = (candidates.roots * before.shape[1] + worst) * 2 + up

        def describe(row: int) -> Violation:
            column, root = int(worst[row]), int(candidates.roots[row])
            said, says, bound = (float(values[row, column]) for values in (before, after, allowed))
            what = "the prediction" if before.shape[1] == 1 else f"output {column}"
            return Violation(
                "moved",
                f"moved:{root}:{column}:{'rises' if up[row] else 'falls'}",
                f"{what} moved from {said:.6g} to {says:.6g}, where {bound:.3g} is allowed",
                {"output": column, "of the seed": said, "of the input": says, "allowed": bound},
            )

        return Verdicts.where("moved", trace, moved, bugs, describe)

    def on_seeds(self, seeds: Seeds) -> OnSeeds | None:
        """Which predictions are farther from their labels than the tolerance; None where no label is known."""
        assert seeds.answers is not None, "known once seeds are cleared"
        answers, labels = as_values(seeds.answers), as_values(seeds.labels)
        known = labels.isfinite() if seeds.labels.is_floating_point() else labels != NO_LABEL
        if answers.shape != labels.shape or not known.any():
            return None
        errors = (answers - labels).abs()
        wrong = (known & (errors > self._tolerance.allowed(labels))).any(1)
        return OnSeeds(wrong, "mean absolute error", float(errors[known & errors.isfinite()].mean()))


def tolerance_of(text: str) -> Tolerance:
    """`0.5` is absolute, `0.5,2` so for each output, `10%` a share of what was said of the seed."""
    amounts = [Amount.parsed(part) for part in text.split(",")]
    if amounts[0].unit == SHARE:
        return Tolerance(torch.zeros(1), amounts[0].value)
    return Tolerance(torch.tensor([one.value for one in amounts]))


def in_numbers(text: str, seeds: Seeds) -> str:
    """A tolerance of `3x` as so many times what the answers for neighbours differ by; others as they are."""
    given = [Amount.parsed(part) for part in text.split(",")]
    if given[0].unit != TIMES:
        return text
    usual = differences_of_neighbours(seeds)
    if usual is None or not (usual > 0).all():
        raise UsageError(
            f"--tolerance {text} needs seeds that differ, and answers of the model that do: give an absolute tolerance "
            f"such as 0.5, or a relative one such as 10%"
        )
    return ",".join(f"{difference:.2g}" for difference in (given[0].value * usual).tolist())


def differences_of_neighbours(seeds: Seeds) -> Tensor | None:
    """[values] by how much the answers for a seed and for the seed nearest to it usually differ; None of equal seeds.

    The median over the seeds, or the mean where most neighbours have the same answer.
    """
    assert seeds.answers is not None, "known once seeds are cleared"
    fine = finite_rows(seeds.answers).nonzero().squeeze(1)
    if not len(fine):
        return None
    rows = fine[:: -(-len(fine) // MOST_NEIGHBOURS)]
    answers, nearest = as_values(seeds.answers[rows]), _nearest_others(_comparable(seeds.inputs[rows]))
    differences = (answers - answers[nearest]).abs()[nearest >= 0]
    if not len(differences):
        return None
    middle = differences.median(0).values
    return torch.where(middle > 0, middle, differences.mean(0))


def _comparable(inputs: Tensor) -> Tensor:
    """Inputs as rows [seeds, values] around their mean; columns of tables in units of their spread."""
    if not inputs.is_floating_point():
        return inputs.flatten(1)
    centred = (inputs - inputs.mean(0)).flatten(1)
    spread = centred.square().mean(0).sqrt()
    return centred / torch.where(spread > 0, spread, 1) if inputs.ndim == TABLE_DIMENSIONS else centred


def _nearest_others(points: Tensor) -> Tensor:
    """[points] the position of the nearest point that is not the same, -1 where there is none."""
    nearest = []
    for some in points.split(AT_ONCE):
        least, where = _distances(some, points).min(1)
        nearest.append(where.where(least.isfinite(), -1))
    return torch.cat(nearest)


def _distances(some: Tensor, points: Tensor) -> Tensor:
    """[some, points] Euclidean, or how many whole numbers differ; infinite between points that are the same."""
    if not points.is_floating_point():
        differ = torch.cdist(some.float(), points.float(), p=0)
        return differ.where(differ > 0, torch.inf)
    distances = torch.cdist(some, points)  # by a matrix product, whose rounding makes equal points differ
    return distances.where(distances > SAME * some.norm(dim=1, keepdim=True), torch.inf)


SAY = "give how far a prediction may move: 0.5, 0.5,2 for each output, 10%, or 3x what neighbours differ by"
ONE = amount(ABSOLUTE, SHARE, TIMES, say=SAY)
EACH = amount(ABSOLUTE, say=SAY)


def _tolerance(value: Any) -> str:
    parts = value if isinstance(value, list | tuple) else shown(value).split(",")
    return ",".join((ONE if len(parts) == 1 else EACH).check(part) for part in parts)


@dataclass(frozen=True)
class ToleranceOptions:
    """How far predictions may move."""

    tolerance: str = option(
        Kind("AMOUNT", str, _tolerance, (*ONE.bad, "1,10%", "1,,2"), bounds=ONE.bounds, spelled=ONE.spelled),
        "How far `moved` lets predictions move: 0.5, 10%, or 3x what nearest seeds differ by",
        Theme.DEFECTS,
        default="3x",
    )


def _settled(settings: Settings, seeds: Seeds) -> Settings:
    if seeds.answers is None or seeds.answers.ndim > MOST_DIMENSIONS:  # which is refused when the oracle is made
        return settings
    return settings.over(ToleranceOptions(in_numbers(settings[ToleranceOptions].tolerance, seeds)))


def _moved(settings: Settings, context: PartContext) -> PredictionKept:
    if 1 + len(context.answer_shape) > MOST_DIMENSIONS:
        raise context.unfit("moved", "predictions [batch] or [batch, values]")
    tolerance = tolerance_of(settings[ToleranceOptions].tolerance)
    outputs = context.answer_shape[0] if context.answer_shape else 1
    if len(tolerance.fixed) not in (1, outputs):
        raise UsageError(
            f"--tolerance has {len(tolerance.fixed)} amounts, the model {outputs} outputs: give one, or all"
        )
    return PredictionKept(tolerance)


MOVED = Part(first_line(PredictionKept), _moved, (ToleranceOptions,), _settled, compares=ComparedWith.SEED)

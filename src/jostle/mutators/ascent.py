"""Joint gradient ascent: towards another answer of the model and towards active neurons (DLFuzz, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.distances import as_image_file, columns, lengths, reference_lengths, relative_distances, within
from jostle.interfaces import Differentiable
from jostle.lineage import NO_GRADIENT, UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.goals import Goal
from jostle.mutators.neuron_choice import NeuronChoice
from jostle.mutators.perturbations import Perturbation, plain
from jostle.records import NO_PARENT, Candidates, Lesson

PROBE = 0.9  # of the limit: the first step, so that its result may still be kept as a seed
USUAL_LIMIT = 0.02
OVERSHOOT, LAST_OVERSHOOT = 1.0, 1.15  # beyond where the last step says that the goal lies; more if no other follows
SHORTEST = 0.01  # relative step
LARGEST = 0.3
BOLDER = 3.0  # times the last step, where that came no nearer
# What came of a row: no step reached it, or a step stayed, ended the line, or was the first that moved; others follow.
NO_STEP, STAYED, ENDED, STEPPED = -1, 0, 1, 2


@dataclass(frozen=True)
class Reach:
    """How far ascent goes, in shares of the root's length."""

    limit: float = USUAL_LIMIT  # what seeds may be from their root, 0 if mutants are never seeds
    most: float = 0.3  # what mutants may be from their root

    def __post_init__(self) -> None:
        if not 0 <= self.limit <= self.most or not self.most > 0:
            raise UsageError(
                f"--limit {self.limit} and --reach {self.most}: seeds lie nearer to their root than mutants: give "
                f"a reach above 0 and a limit not above it (0.3 and 0.02)"
            )

    @property
    def first(self) -> float:
        """The first step."""
        return PROBE * (self.limit or min(USUAL_LIMIT, self.most))


@dataclass
class Lines:
    """Parents and how far each has come; row i of every field belongs to line i."""

    rows: Tensor  # [lines, iterations] where in the batch each of its points goes
    points: Tensor  # [lines, ...] where it is
    roots: Tensor  # [lines, ...] what distances are measured from
    labels: Tensor  # [lines] what the model should go on to say
    luck: Tensor  # [lines, 3] drawn once: a place in the image, and what a goal draws
    steps: Tensor  # [lines] the last one, in shares of the root's length
    margins: Tensor  # [lines] how far from the goal it was before that step
    neurons: Tensor  # [lines, neurons] to activate, chosen once for each line
    lengths: Tensor  # [lines] of the roots: what distances are shares of

    def __len__(self) -> int:
        return len(self.points)

    def select(self, lines: Tensor) -> Lines:
        """Those that are true in [lines], mostly all."""
        return self if lines.all() else Lines(*(field[lines] for field in vars(self).values()))


class Ascent:
    """Gradient ascent on a joint objective: another answer of the model, and chosen neurons active (DLFuzz).

    Rows of one parent are the points of a line, as many as there are iterations, each a step on from the one before;
    where a line has too few rows, the last shows its end. A line ends where its goal is reached. The first step stays
    within the limit for seeds; from how much nearer it came to the goal, the next are measured to just go beyond it.
    """

    def __init__(
        self,
        target: Differentiable,
        goal: Goal,
        low: float,
        high: float,
        choice: NeuronChoice | None = None,
        weight: float = 0.25,
        perturbation: Perturbation = plain,
        iterations: int = 3,
        reach: Reach | None = None,
        as_images: bool = False,
    ):
        self._target, self._goal, self._choice = target, goal, choice
        self._low, self._high, self._as_images = low, high, as_images
        self._weight, self._perturbation, self._iterations = weight, perturbation, iterations
        self._reach = reach or Reach()
        steps = (Mutation((f"ascent, step {number + 1}",)) for number in range(iterations))
        self._forms = (UNCHANGED, NO_GRADIENT, *steps)  # in the order of STAYED, ENDED, STEPPED

    def learn(self, lesson: Lesson) -> None:
        if self._choice is not None:
            self._choice.learn(lesson)

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        lines = self._begun(parents, rng)
        children = parents.inputs.clone()
        made = torch.full((len(parents),), NO_STEP)  # [batch] which of the forms
        for iteration in range(self._iterations):
            lines, came_to = self._step(lines, iteration, rng)
            rows = lines.rows[:, iteration]
            children[rows] = lines.points
            before = made[rows]  # of a line with too few rows, which a step that leads nowhere does not undo
            made[rows] = torch.where((came_to == STAYED) & (before != NO_STEP), before, came_to)
            lines = lines.select(came_to != ENDED)
            if not len(lines):
                break
        mutations = Mutations(self._forms, made, torch.full((len(made),), torch.nan))
        mutated = replace(parents, inputs=children, mutations=mutations)
        return mutated.select((made != NO_STEP).nonzero().squeeze(1))

    def _begun(self, parents: Candidates, rng: torch.Generator) -> Lines:
        rows = _rows_by_line(parents.parents, self._iterations)
        first, count = parents.select(rows[:, 0]), len(rows)
        roots = first.references
        return Lines(
            rows=rows,
            points=first.inputs,
            roots=roots,
            labels=first.labels,
            luck=torch.rand(count, 3, generator=rng),
            steps=torch.zeros(count),
            margins=torch.full((count,), torch.inf),
            neurons=torch.empty(count, 0, dtype=torch.int64),
            lengths=reference_lengths(roots),
        )

    def _step(self, lines: Lines, iteration: int, rng: torch.Generator) -> tuple[Lines, Tensor]:
        """Those of the lines that have not reached their goal, one step on, and what came of each step [lines]."""
        gradient, margins = self._gradient(lines, iteration == 0, rng)
        lines.steps, lines.margins = self._measured(lines, margins, iteration + 1 == self._iterations), margins
        if iteration:
            going = ~(margins < 0)  # also where it is NaN
            lines, gradient = lines.select(going), gradient if going.all() else gradient[going]
        finite = gradient.flatten(1).isfinite().all(1)
        if not finite.all():
            gradient[~finite] = 0  # such a line stays where its gradient is not finite
        moved = self._moved_to_surface if self._goal.thin else self._moved
        before, lines.points = lines.points, moved(lines, gradient, iteration == 0, rng)
        changed = (lines.points != before).flatten(1).any(1)
        return lines, torch.where(finite, torch.where(changed, STEPPED + iteration, STAYED), ENDED)

    def _gradient(self, lines: Lines, first: bool, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Of the objective by the input [lines, ...], and how far each line is from its goal [lines]."""
        luck, neurons = lines.luck[:, 2], {}
        passed = self._target.linearise(lines.points, first and self._choice is not None and self._choice.looks_closely)
        if self._choice is not None:
            if first:
                lines.neurons = self._choice.chosen(passed, rng)  # §3.2: once for each seed
            neurons = self._choice.weights(lines.neurons, self._weight)
        gradient = passed.pull(self._goal.weights(passed.scores, lines.labels, luck), neurons)
        return gradient, self._goal.margins(passed.scores, lines.labels, luck)

    def _measured(self, lines: Lines, margins: Tensor, last: bool) -> Tensor:
        """The next step of each line [lines]: to where the last one, went on with, would reach the goal."""
        slope = (lines.margins - margins) / lines.steps.clamp(min=1e-12)
        overshoot = LAST_OVERSHOOT if last else OVERSHOOT
        ahead = torch.where(slope > 0, margins / slope, BOLDER * lines.steps) * overshoot + SHORTEST / 2
        return torch.where(lines.steps > 0, ahead.clamp(SHORTEST, LARGEST), self._reach.first)

    def _moved(self, lines: Lines, gradient: Tensor, first: bool, rng: torch.Generator) -> Tensor:
        """The lines' points a step on, as values that inputs hold, no farther from their roots than they may be."""
        direction = self._perturbation(gradient, lines.luck[:, :2], rng)
        share = lines.steps * lines.lengths / lengths(direction).clamp(min=1e-30)
        return self._kept_near(lines, direction * columns(share.nan_to_num(0), direction), self._farthest(lines, first))

    def _moved_to_surface(self, lines: Lines, gradient: Tensor, first: bool, rng: torch.Generator) -> Tensor:
        """The lines' points where the slope says that the goal lies, by values that can still move (Newton's step)."""
        direction = self._perturbation(gradient, lines.luck[:, :2], rng)
        blocked = (lines.points <= self._low) & (direction < 0) | (lines.points >= self._high) & (direction > 0)
        direction = direction.masked_fill(blocked, 0)
        slope = (direction * gradient).flatten(1).sum(1)
        longest = LARGEST * lines.lengths / lengths(direction).clamp(min=1e-30)
        share = torch.minimum(lines.margins / slope.clamp(min=1e-30), longest)
        changes = direction * columns(share.nan_to_num(0), direction)
        if self._as_images:  # up or down at random, so that a change of less than a level is not lost
            changes += (
                (torch.rand(changes.shape, generator=rng) - 0.5) * (self._high - self._low) / 255 * (changes != 0)
            )
        return self._kept_near(lines, changes, torch.full((len(lines),), self._reach.most))

    def _kept_near(self, lines: Lines, changes: Tensor, farthest: Tensor) -> Tensor:
        """Points changed by so much [lines, ...], as values that inputs hold, so far [lines] from their roots."""
        roots = lines.roots.float()
        away = (lines.points.float() + changes).clamp_(self._low, self._high).sub_(roots)
        distances = (lengths(away) / lines.lengths).clamp(min=1e-12)
        points = away.mul_(columns((farthest / distances).clamp(max=1), away)).add_(roots)
        storable = as_image_file if self._as_images else within
        return storable(points, self._low, self._high, lines.points.dtype)

    def _farthest(self, lines: Lines, first: bool) -> Tensor:
        """How far from its root each line may go [lines]: at first within the limit, unless it begins beyond."""
        if not first:
            return torch.full((len(lines),), self._reach.most)
        return relative_distances(lines.points, lines.roots).clamp(self._reach.first, self._reach.most)


def _rows_by_line(ids: Tensor, iterations: int) -> Tensor:
    """[lines, iterations] rows of the same parent, cut into lines; a line of too few repeats its last."""
    own = torch.where(ids == NO_PARENT, -2 - torch.arange(len(ids)), ids)  # rows without a parent stand alone
    order = own.argsort(stable=True)
    _, group, sizes = own[order].unique_consecutive(return_inverse=True, return_counts=True)
    rank = torch.arange(len(ids)) - (sizes.cumsum(0) - sizes)[group]
    lines_before = (sizes.add(iterations - 1) // iterations).cumsum(0)
    line = torch.cat([lines_before.new_zeros(1), lines_before[:-1]])[group] + rank // iterations
    rows = torch.full((int(lines_before[-1]), iterations), -1)
    rows[line, rank % iterations] = order
    last = (rows >= 0).sum(1, keepdim=True) - 1
    return rows.gather(1, torch.minimum(torch.arange(iterations).expand_as(rows), last))

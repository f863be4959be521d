"""Makes findings of a model smaller: which searches suit a campaign, and when an input still shows its bug."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from jostle.catalogue import PartOptions
from jostle.domain import Domain
from jostle.foreign import Crash, attempt
from jostle.inputs.channel_range import ChannelRange
from jostle.inputs.distances import as_image_file, lengths
from jostle.inputs.geometry import IMAGE_LIKE, Border, Placements, unmoved
from jostle.inputs.several import Several
from jostle.inputs.tokens import Tokens
from jostle.inputs.value_range import ValueRange
from jostle.interfaces import Differentiable, Oracle, Target
from jostle.lineage import Compared, Lineage, Mutation, Untouched
from jostle.mutators.gradient_part import GradientOptions
from jostle.mutators.metamorphic import MetamorphicOptions
from jostle.mutators.replaying import MutationStep, ReplayedWay, Way
from jostle.options.campaign import FindingOptions, InputOptions
from jostle.options.resources import BatchOptions
from jostle.options.schema import Settings
from jostle.records import MODEL, Candidates, all_rows
from jostle.storage.ancestry import Ancestry
from jostle.storage.finding_record import FindingRecord
from jostle.targets.contained import ContainedGradients
from jostle.triage.deadline import Deadline
from jostle.triage.fewer_steps import smallest_shares
from jostle.triage.minimise import Boundary, Shrinking, minimised
from jostle.triage.undo import undone

ANY = (-math.inf, math.inf)  # values of inputs that are no images: what they may be, their domain knows
NEARER = 1 + 1e-6  # times as far from the seed as the finding is not farther, but for rounding


@dataclass(frozen=True)
class Shrunk:
    """Findings made smaller; row i belongs to finding i."""

    rows: Candidates
    steps: tuple[tuple[Mutation, ...] | None, ...]  # those that are left, None where the way could not be gone again
    from_texts: frozenset[int] = frozenset()  # rows of which the texts of their steps tell all

    @property
    def inputs(self) -> Tensor:
        """[findings, ...]"""
        return self.rows.inputs


@dataclass(frozen=True)
class Shrinker:
    """Makes findings of one kind smaller, as long as each shows its bug."""

    target: Target
    oracle: Oracle
    settings: Settings
    domain: Domain
    gradients: Differentiable | None  # of a model with class scores; what it raises, this raises
    ancestry: Ancestry | None = None  # None where the corpus is not there

    def shrunk(self, rows: Candidates, records: Sequence[FindingRecord], bugs: Tensor, deadline: Deadline) -> Shrunk:
        """Rows with smaller inputs, each still showing its bug [rows] when it runs alone; the others as they were.

        First fewer and smaller steps from the seed on, then towards the seed, moved as the input is.
        """
        shows = _Shows(self.target, self.oracle, bugs, deadline, self.settings[BatchOptions].rows)
        if isinstance(self.domain, Tokens):
            small = undone(rows.inputs, rows.references, self.domain, partial(shows.inputs, rows))
            return Shrunk(shows.where_alone(rows, replace(rows, inputs=small)), (None,) * len(rows))
        short = self._with_fewer_steps(rows, records, shows)
        return replace(short, rows=self._towards_seeds(short, records, shows))

    def _with_fewer_steps(self, rows: Candidates, records: Sequence[FindingRecord], shows: _Shows) -> Shrunk:
        """As few and small steps as show the bug alone; what is not told in full, only where it is no farther away."""
        ways = {row: way for row, record in enumerate(records) if (way := self._way(rows, row, record)) is not None}

        def tried(some: Sequence[int], shares: Sequence[Sequence[float]]) -> Tensor:
            if shows.deadline.passed:  # going ways again takes time too
                return torch.zeros(len(some), dtype=torch.bool)
            ends = [ways[row].replayed(share, self._border) for row, share in zip(some, shares, strict=True)]
            return shows.rows(torch.tensor(some), self._ended(rows.select(torch.tensor(some)), ends))

        best = smallest_shares([len(ways[row]) if row in ways else 0 for row in range(len(rows))], tried)
        ends = {row: ways[row].replayed(share, self._border) for row, share in enumerate(best) if share is not None}
        if not ends:
            return Shrunk(rows, (None,) * len(rows))
        some = torch.tensor(list(ends))
        made = self._ended(rows.select(some), list(ends.values()))
        from_texts = torch.tensor([one.from_texts for one in ends.values()])
        good = shows.alone(some, made) & (from_texts | _no_farther(made, rows.select(some)))
        took = set(some[good].tolist())
        steps = tuple(ends[row].mutations if row in took else None for row in range(len(rows)))
        taken = _with_rows(rows, some[good], made.select(good.nonzero().squeeze(1)))
        return Shrunk(taken, steps, frozenset(some[good & from_texts].tolist()))

    def _way(self, rows: Candidates, row: int, record: FindingRecord) -> Way | None:
        """How a finding came from its seed, where that can be gone again."""
        lineage = rows.lineage
        if self.ancestry is None or isinstance(self.domain, Several) or isinstance(lineage, Compared):
            return None
        mutations, arrays = self.ancestry.steps(record), self.ancestry.inputs(record)
        if not mutations or len(arrays) != len(mutations) or arrays[0].shape != rows.inputs.shape[1:]:
            return None
        ends = [*arrays[1:], rows.inputs[row]]
        changes = [after.float() - before.float() for before, after in zip(arrays, ends, strict=True)]
        steps = [MutationStep(mutation, change) for mutation, change in zip(mutations, changes, strict=True)]
        placement = unmoved(1)[0] if isinstance(lineage, Untouched) else lineage.rows[row]
        images = isinstance(self.domain, ValueRange | ChannelRange) and rows.inputs[row].ndim in IMAGE_LIKE
        way = Way(rows.originals[row], steps, placement, self.settings[InputOptions].bounds if images else ANY)
        return way if way.can_be_replayed else None

    def _ended(self, rows: Candidates, ends: Sequence[ReplayedWay]) -> Candidates:
        """Rows with what their ways came to."""
        placements = Placements(torch.stack([one.placement for one in ends]), self._border)
        lineage: Lineage = placements if placements.moved.any() else Untouched(len(ends))
        made = replace(rows, inputs=torch.stack([one.input for one in ends]), lineage=lineage)
        return replace(made, inputs=self._storable(made.references)(made.inputs))

    def _towards_seeds(self, short: Shrunk, records: Sequence[FindingRecord], shows: _Shows) -> Candidates:
        """The same rows nearer to their seeds, moved as they are; what steps tell in full stays as they tell it."""
        some = [row for row in range(len(records)) if row not in short.from_texts]
        if not some:
            return short.rows
        others = torch.tensor(some)
        rows, shows = short.rows.select(others), shows.of(others)
        how = Shrinking(
            rows.references,
            partial(shows.inputs, rows),
            self._storable(rows.references),
            self._boundary(rows, [records[row] for row in some]),
            same_kind=self._realistic,
            plain=not self.settings[FindingOptions].as_images,
            spent=lambda: shows.deadline.passed,
        )
        near = shows.where_alone(rows, replace(rows, inputs=minimised(rows.inputs, how)))
        return _with_rows(short.rows, others, near)

    def _storable(self, references: Tensor) -> Callable[[Tensor], Tensor]:
        """From inputs [rows, ...] to the nearest that may be, and that files hold."""
        if self.settings[FindingOptions].as_images:
            low, high = self.settings[InputOptions].bounds
            return partial(as_image_file, low=low, high=high)
        return lambda inputs: self.domain.nearest(inputs.to(references.dtype), references)

    def _boundary(self, rows: Candidates, records: Sequence[FindingRecord]) -> Callable[[Tensor], Boundary] | None:
        """Where labels change, of a model with gradients whose inputs may change in any way."""
        if self.gradients is None or records[0].kind != "flip" or self._realistic:
            return None
        model = self.gradients
        gradients = attempt(lambda: ContainedGradients(model, rows.inputs[:1]))
        if isinstance(gradients, Crash):
            return None
        return partial(_boundary, gradients, torch.tensor([record.label_change.taken_for for record in records]))

    @property
    def _realistic(self) -> bool:
        """Whether the shape of changes is what makes them real."""
        named, options = self.settings[PartOptions].mutator, self.settings[GradientOptions]
        return "gradient" in named and options.perturbation != "gradient"

    @property
    def _border(self) -> Border:
        return Border(self.settings[MetamorphicOptions].border)


@dataclass(frozen=True)
class _Shows:
    """Tells which inputs show the bugs of findings, as long as there is time; then none does."""

    target: Target
    oracle: Oracle
    bugs: Tensor  # [findings]
    deadline: Deadline
    batch: int  # at most

    def of(self, some: Tensor) -> _Shows:
        """The same for some of the findings."""
        return replace(self, bugs=self.bugs[some])

    def rows(self, some: Tensor, tried: Candidates) -> Tensor:
        """[some] bool: of what is tried for some of the findings."""
        return torch.zeros(len(some), dtype=torch.bool) if self.deadline.passed else self._run(some, tried)

    def inputs(self, rows: Candidates, some: Tensor, inputs: Tensor) -> Tensor:
        """The same, given inputs [some, ...] for some of these rows."""
        return self.rows(some, replace(rows.select(some), inputs=inputs))

    def alone(self, some: Tensor, tried: Candidates) -> Tensor:
        """The same with each in a batch of its own, where rounding may differ; also when there is no time left."""
        each = zip(some.split(1), tried.split(1), strict=True)
        return torch.cat([self._run(number, row) for number, row in each])

    def where_alone(self, before: Candidates, after: Candidates) -> Candidates:
        """All findings: after where that differs and shows the bug alone, before otherwise."""
        some = (before.inputs != after.inputs).flatten(1).any(1).nonzero().squeeze(1)
        if not len(some):
            return before
        shown = some[self.alone(some, after.select(some))]
        return _with_rows(before, shown, after.select(shown))

    def _run(self, some: Tensor, tried: Candidates) -> Tensor:
        parts = tried.split(self.batch)
        traces = [self.target.run(part, self.oracle.looks_inside) for part in parts]
        bugs = [self.oracle.judge(part, trace).bugs for part, trace in zip(parts, traces, strict=True)]
        return torch.cat(bugs) == self.bugs[some]


def _no_farther(made: Candidates, than: Candidates) -> Tensor:
    """[rows] bool: which are no farther from the seed."""
    ours, theirs = (lengths(one.inputs.float() - one.originals.float()) for one in (made, than))
    return ours <= NEARER * theirs


def _with_rows(rows: Candidates, some: Tensor, others: Candidates) -> Candidates:
    """The rows, some of them replaced."""
    where = all_rows(len(rows)).index_copy(0, some, len(rows) + all_rows(len(some)))
    return Candidates.joined([rows, others]).select(where)


def _boundary(gradients: Differentiable, taken_for: Tensor, inputs: Tensor) -> Boundary:
    """Between the class that each finding is taken for and the likeliest other one."""
    passed = gradients.linearise(inputs)
    scores = passed.scores[MODEL]
    others = scores.scatter(1, taken_for[:, None], -torch.inf).argmax(1, keepdim=True)
    weights = torch.zeros_like(scores).scatter_(1, others, -1.0).scatter_(1, taken_for[:, None], 1.0)
    return Boundary((weights * scores).sum(1), passed.pull({MODEL: weights}, {}))

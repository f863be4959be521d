"""Mutators that know a range of values, made to keep any domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from jostle.domain import Domain
from jostle.inputs.table import Table
from jostle.inputs.value_range import ValueRange
from jostle.interfaces import CountsTries, Differentiable, Learner, Mutator
from jostle.options.schema import Settings
from jostle.part import PartContext
from jostle.records import Candidates, Lesson, Linearised, Seeds
from jostle.step_records import Tries

Make = Callable[[Settings, PartContext], Mutator]


def in_domain(make: Make) -> Make:
    """The same mutator as it is for a range of values; for other domains, its children are moved into them.

    Of a table it sees columns that all go from 0 to 1.
    """

    def kept(settings: Settings, context: PartContext) -> Mutator:
        domain = context.domain
        if isinstance(domain, ValueRange):
            return make(settings, context)
        if isinstance(domain, Table):
            units = Units(domain)
            seeds = units.seeds(context.seeds)
            mutator = make(settings, units.context(context, seeds))
            return InUnits(mutator, units, seeds, domain)
        return InDomain(make(settings, context), domain)

    return kept


class InDomain:
    """Another mutator, whose children are moved into the domain where they left it."""

    def __init__(self, mutator: Mutator, domain: Domain):
        self._mutator, self._domain = mutator, domain

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        children = self._mutator.mutate(parents, rng)
        return replace(children, inputs=self._domain.nearest(children.inputs, children.originals))

    def learn(self, lesson: Lesson) -> None:
        if isinstance(self._mutator, Learner):
            self._mutator.learn(lesson)

    def tries(self) -> Mapping[str, Tries]:
        return self._mutator.tries() if isinstance(self._mutator, CountsTries) else {}


class Units:
    """The columns of a table scaled to go from 0 to 1 each, and back."""

    def __init__(self, table: Table):
        self.low = table.low
        self.span = torch.where(table.span > 0, table.span, 1.0)

    def of(self, inputs: Tensor) -> Tensor:
        return (inputs - self.low) / self.span

    def back(self, inputs: Tensor) -> Tensor:
        return inputs * self.span + self.low

    def seeds(self, seeds: Seeds) -> Seeds:
        return replace(seeds, inputs=self.of(seeds.inputs))

    def context(self, context: PartContext, seeds: Seeds) -> PartContext:
        """What a mutator is made from that sees inputs in units."""
        gradients, contained = context.gradients, context.contained
        return replace(
            context,
            seeds=seeds,
            gradients=None if gradients is None else GradientsInUnits(gradients, self),
            contained=None
            if contained is None
            else lambda sample: GradientsInUnits(contained(self.back(sample)), self),
        )


class GradientsInUnits:
    """A differentiable target that takes inputs in units."""

    def __init__(self, target: Differentiable, units: Units):
        self._target, self._units = target, units

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        passed = self._target.linearise(self._units.back(inputs), extremes)

        def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
            return passed.pull(scores, activations) * self._units.span

        return replace(passed, pull=pull)


class InUnits:
    """Another mutator, on a table whose columns all go from 0 to 1; its children are moved into the domain."""

    def __init__(self, mutator: Mutator, units: Units, seeds: Seeds, domain: Table):
        """The seeds are those of the campaign, in units."""
        self._mutator, self._units, self._seeds, self._domain = mutator, units, seeds, domain

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        scaled = replace(parents, inputs=self._units.of(parents.inputs), seeds=self._seeds)
        children = self._mutator.mutate(scaled, rng)
        roots = parents.seeds.inputs.index_select(0, children.roots)
        inputs = torch.where(children.inputs == children.originals, roots, self._units.back(children.inputs))
        return replace(children, inputs=self._domain.nearest(inputs, roots), seeds=parents.seeds)

    def learn(self, lesson: Lesson) -> None:
        if isinstance(self._mutator, Learner):
            self._mutator.learn(lesson)

    def tries(self) -> Mapping[str, Tries]:
        return self._mutator.tries() if isinstance(self._mutator, CountsTries) else {}

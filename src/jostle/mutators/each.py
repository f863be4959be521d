"""Several inputs: one or more of them change at a time, each by a mutator of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from jostle.errors import PreflightFailed, UsageError
from jostle.inputs.geometry import border_of, unmoved
from jostle.inputs.several import PlacementsOfOne, Several
from jostle.inputs.value_range import ValueRange
from jostle.interfaces import CountsTries, Learner, Mutator
from jostle.lineage import UNCHANGED, Change, Lineage, Mutation, Untouched
from jostle.mutations import Mutations
from jostle.mutators.havoc import HavocOptions
from jostle.mutators.noise import NoiseOptions
from jostle.options.campaign import InputOptions
from jostle.options.choices import chosen
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates, Lesson, Seeds
from jostle.step_records import Tries

TOGETHER = 1 / 3  # how often each of the other inputs changes too
OF_WHOLE_ROWS = ("gradient",)  # mutators that need all inputs at once


class Each:
    """Several inputs, of which one or more change at a time, each by a mutator of its own; the others stay."""

    def __init__(self, domain: Several, mutators: Mapping[str, Mutator]):
        self._domain, self._mutators = domain, mutators
        self._seeds: tuple[Seeds | None, dict[str, Seeds]] = (
            None,
            {},
        )  # the last that were seen, and those of each input

    def learn(self, lesson: Lesson) -> None:
        """Passes the lesson on, with the rows of one input and what was done to it, to mutators that learn."""
        for name, mutator in self._mutators.items():
            if isinstance(mutator, Learner):
                kept, found = self._of_one(name, lesson.kept), _done_to(name, lesson.found)
                done = _done_to(name, kept.mutations)
                mutator.learn(replace(lesson, kept=replace(kept, mutations=Mutations.of(done)), found=found))

    def tries(self) -> dict[str, Tries]:
        """Those of the mutators that count them, under the name of their input."""
        counting = {name: one for name, one in self._mutators.items() if isinstance(one, CountsTries)}
        return {f"{name} {what}": tries for name, one in counting.items() for what, tries in one.tries().items()}

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        children = parents.inputs.clone()
        operations: list[tuple[str, ...]] = [()] * len(parents)
        lineage, draws = parents.lineage, self._drawn(len(parents), rng)
        for name, which in zip(self._mutators, draws.T, strict=True):
            rows = which.nonzero().squeeze(1)
            if len(rows):
                made = self._mutators[name].mutate(self._of_one(name, parents.select(rows)), rng)
                children[rows] = self._domain.layout.replaced(children[rows], name, made.inputs)
                lineage = self._followed(name, lineage, rows, made.lineage)
                _note(name, rows, made.mutations, operations)
        inside = self._domain.nearest(children, parents.originals)
        unlike = (inside != parents.inputs).any(1).tolist()  # a whole number may be rounded to what it was
        done = (Mutation(done) if new else UNCHANGED for done, new in zip(operations, unlike, strict=True))
        mutations = Mutations.of(done)
        return replace(parents, inputs=inside, mutations=mutations, lineage=lineage)

    def _drawn(self, rows: int, rng: torch.Generator) -> Tensor:
        """Which inputs of each row change [rows, inputs]: one at least."""
        count = len(self._mutators)
        first = torch.randint(count, (rows, 1), generator=rng)
        return (torch.rand(rows, count, generator=rng) < TOGETHER).scatter_(1, first, True)

    def _of_one(self, name: str, rows: Candidates) -> Candidates:
        """The same rows, as if there were this input only."""
        lineage: Lineage = Untouched(len(rows))
        if name == self._domain.moved and isinstance(rows.lineage, PlacementsOfOne):
            lineage = rows.lineage.own
        inputs = self._domain.of(name, rows.inputs)
        return replace(rows, inputs=inputs, seeds=self._seeds_of(name, rows.seeds), lineage=lineage)

    def _seeds_of(self, name: str, seeds: Seeds) -> Seeds:
        if self._seeds[0] is not seeds:
            self._seeds = seeds, {one: self._domain.alone(one, seeds) for one in self._mutators}
        return self._seeds[1][name]

    def _followed(self, name: str, lineage: Lineage, rows: Tensor, made: Lineage) -> Lineage:
        """The lineage of all rows, once some of them have been moved."""
        if name != self._domain.moved:
            return lineage
        return self._domain.placed(_placements(lineage).index_copy(0, rows, _placements(made)), border_of(made))


def _placements(lineage: Lineage) -> Tensor:
    """[rows, 2, 3]"""
    return unmoved(lineage.count) if isinstance(lineage, Untouched) else lineage.rows


def _note(name: str, rows: Tensor, made: Sequence[Mutation], operations: list[tuple[str, ...]]) -> None:
    """Adds what was done to each row, under the name of the input."""
    for row, mutation in zip(rows.tolist(), made, strict=True):
        if mutation.change is Change.CHANGED:
            operations[row] = (*operations[row], *(f"{name} {operation}" for operation in mutation.operations))


def _done_to(name: str, mutations: Sequence[Mutation]) -> tuple[Mutation, ...]:
    """What of each was done to one input, as its own mutator calls it; undoes `_note`."""
    start = f"{name} "
    own = ([text.removeprefix(start) for text in one.operations if text.startswith(start)] for one in mutations)
    return tuple(one._replace(operations=tuple(done)) for one, done in zip(mutations, own, strict=True))


def each_of(mutators: Mapping[str, Part[Mutator]]) -> Part[Mutator]:
    """The part that gives each of several inputs one of these mutators."""

    def make(settings: Settings, context: PartContext) -> Each:
        domain = context.domain
        if not isinstance(domain, Several):
            raise UsageError("--mutator each is for several inputs, and there is one: name another mutator")
        known = [name for name in mutators if name not in OF_WHOLE_ROWS]
        made = {
            name: _made(mutators[chosen(f"--input {name}:", mutator, known)], name, domain, settings, context)
            for name, mutator in domain.mutators.items()
        }
        return Each(domain, made)

    groups = dict.fromkeys(group for part in mutators.values() for group in part.options)
    return Part(first_line(Each), make, tuple(groups), bounded=True)


def _made(part: Part[Mutator], name: str, domain: Several, settings: Settings, context: PartContext) -> Mutator:
    if domain.mutators[name] == "metamorphic" and len(domain.layout.field(name).shape) not in (3, 4):
        shape = list(domain.layout.field(name).shape)
        raise PreflightFailed(
            f"--input {name}=metamorphic: inputs of shape {shape} are no images [channels, height, width]: use noise"
        )
    return part.make(_ranged(settings, domain.domains[name]), replace(context, seeds=domain.alone(name, context.seeds)))


def _ranged(settings: Settings, domain: object) -> Settings:
    """Settings for the range of one input; noise is as large in it as it would be in the declared range."""
    if not isinstance(domain, ValueRange):
        return settings
    inputs, noise, havoc = settings[InputOptions], settings[NoiseOptions], settings[HavocOptions]
    low, high = inputs.bounds
    scale = (domain.high - domain.low) / (high - low)
    radii = (noise.radius, havoc.havoc_radius)
    radius, havoc_radius = (None if one is None else one * scale for one in radii)
    scaled = settings.over(replace(noise, sigma=noise.sigma * scale, radius=radius))
    scaled = scaled.over(replace(havoc, havoc_radius=havoc_radius))
    return scaled.over(replace(inputs, range=(domain.low, domain.high)))

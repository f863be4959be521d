"""Large changes of every kind, as fuzzers of files make them, to arrays of any shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.value_range import ValueRange
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.earned_shares import EarnedShares
from jostle.mutators.havoc_operations import CHANGES, MOVES, SPECIAL, Array, Material, Palette, regions
from jostle.mutators.in_domain import in_domain
from jostle.mutators.noise import SIGMA_SHARE, NoiseOptions, kept_within, refuse_tokens, share_of_range
from jostle.options.campaign import InputOptions
from jostle.options.declaration import Derived, Facts, Theme, check, option
from jostle.options.kinds import choices, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates, Lesson

NAME = "havoc"
OPERATIONS = {**CHANGES, **MOVES}
NAMES = tuple(OPERATIONS)
LAST_RESORT = "redraw"  # of children that came out like their parents
AT_ONCE = 4  # operations on one child at most; each further one is half as likely


def _radius(facts: Facts) -> float | None:
    """What the user gave for all mutators; else None where no answer is compared with that of the seed."""
    near: float | None = facts.given.get("radius")
    return near or (share_of_range(facts) if facts.compares_with_seeds else None)


@dataclass(frozen=True)
class HavocOptions:
    """How far havoc goes."""

    havoc_radius: float | None = option(
        number("the L∞ radius around the root seed must be above 0", above=0),
        "Largest change from the root seed by havoc",
        Theme.MUTATION,
        default=Derived(_radius, "--radius, else a tenth of the range where answers are compared with the seed's"),
    )
    special_values: tuple[str, ...] = option(
        choices(lambda: SPECIAL, "a value"),
        f"What havoc may set besides finite values, with --range=-inf,inf: {','.join(SPECIAL)}",
        Theme.MUTATION,
        default=(),
    )


class Havoc:
    """Large changes: negated, scaled, set to ends and special values, moved, shuffled, spliced; what pays is done more.

    Children are clipped to the value range and, with a radius, to an L∞ ball around the root seed. The operations of
    one child change the same region of it: everything, a block, or a few entries.
    """

    def __init__(
        self,
        low: float,
        high: float,
        sigma: float | None = None,  # a tenth of how far values usually are from each other; None is of the range
        radius: float | None = None,
        special_values: Sequence[str] = HavocOptions.special_values,
        dtype: torch.dtype = torch.float32,
    ):
        sigma = SIGMA_SHARE * (high - low) if sigma is None else sigma
        check(NoiseOptions, sigma=sigma)
        check(HavocOptions, havoc_radius=radius, special_values=special_values or None)
        extent = sigma / SIGMA_SHARE if radius is None else min(sigma / SIGMA_SHARE, 2 * radius)
        self._palette = Palette.of(low, high, extent, special_values, torch.empty(0, dtype=dtype).numpy().dtype)
        most = math.inf if "inf" in special_values else torch.finfo(dtype).max
        self._low, self._high, self._radius = max(low, -most), min(high, most), radius
        self._earned = EarnedShares(dict.fromkeys(OPERATIONS, 1.0))

    def shares(self) -> dict[str, float]:
        """How likely each operation is drawn next."""
        return self._earned.shares()

    def learn(self, lesson: Lesson) -> None:
        """Credits each operation with what children were first to show that it had a part in."""
        self._earned.credit(_operations_of(lesson.kept.mutations), _operations_of(lesson.found))

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        dice = np.random.default_rng(int(torch.randint(2**62, (1,), generator=rng)))
        material = Material(self._palette, _donors(parents, dice), dice)
        children = parents.inputs.numpy().copy()
        drawn, where = self._drawn(len(parents), dice), regions(children, dice)
        done: list[tuple[str, ...]] = [()] * len(parents)
        for place in dice.permutation(len(OPERATIONS)).tolist():
            name, rows = NAMES[place], drawn[:, place].nonzero()[0]
            if len(rows):
                children[rows] = _changed(name, children[rows], where, rows, material)
                for row in rows.tolist():
                    done[row] = (*done[row], name)
        inputs = self._inside(torch.from_numpy(children), parents)
        made = replace(parents, inputs=inputs, mutations=Mutations.of(map(_mutation, done)))
        return self._all_changed(made, parents, material)

    def _drawn(self, rows: int, rng: np.random.Generator) -> Array:
        """Which operations change each row [rows, operations] bool: one at least."""
        places = rng.choice(len(NAMES), (rows, AT_ONCE), p=list(self.shares().values()))
        more = (rng.random((rows, AT_ONCE - 1)) < 0.5).cumprod(1).sum(1, keepdims=True)
        places = np.where(np.arange(AT_ONCE) <= more, places, places[:, :1])
        drawn = np.zeros((rows, len(NAMES)), bool)
        drawn[np.arange(rows)[:, None], places] = True
        return drawn

    def _inside(self, children: Tensor, parents: Candidates) -> Tensor:
        return kept_within(children, parents, self._low, self._high, self._radius)

    def _all_changed(self, children: Candidates, parents: Candidates, material: Material) -> Candidates:
        """The same children; what came out like its parent is drawn anew, and is unchanged if that changes nothing."""
        alike = _alike(children.inputs, parents.inputs)
        if not len(alike):
            return children
        before = parents.select(alike)
        anew = self._inside(torch.from_numpy(OPERATIONS[LAST_RESORT](before.inputs.numpy(), material)), before)
        inputs, mutations = children.inputs.index_copy(0, alike, anew), list(children.mutations)
        for row in alike.tolist():
            mutations[row] = Mutation((LAST_RESORT,))
        for row in alike[_alike(anew, before.inputs)].tolist():
            mutations[row] = UNCHANGED
        return replace(children, inputs=inputs, mutations=Mutations.of(mutations))


@lru_cache(None)
def _mutation(operations: tuple[str, ...]) -> Mutation:
    """Made once, because making one takes longer than looking it up."""
    return Mutation(operations)


def _donors(parents: Candidates, rng: np.random.Generator) -> Array:
    """Entries of the corpus: all seeds, or what is mutated in this step."""
    donors: Array = (parents.seeds.inputs if rng.integers(2) else parents.inputs).numpy()
    return donors


def _changed(name: str, before: Array, where: Array, rows: Array, material: Material) -> Array:
    """These rows after an operation, which changes some at their regions only."""
    with np.errstate(all="ignore"):  # what leaves the numbers there are is clipped afterwards
        after = OPERATIONS[name](before, material)
    return np.where(where[rows], after, before) if name in CHANGES else after


def _alike(children: Tensor, parents: Tensor) -> Tensor:
    """Rows that are the same bit by bit, as positions; 0 and -0 differ, and a NaN is like itself."""
    ours, theirs = (some.contiguous().numpy().view(np.uint8) for some in (children, parents))
    return torch.from_numpy((ours == theirs).reshape(len(children), -1).all(1)).nonzero().squeeze(1)


def _operations_of(mutations: Sequence[Mutation]) -> list[str]:
    """What havoc did in them; operations of other mutators may have the same names."""
    return [name for mutation in mutations if mutation.mutator in ("", NAME) for name in mutation.operations]


def _havoc(settings: Settings, context: PartContext) -> Havoc:
    refuse_tokens(NAME, context)
    (low, high), options, sigma = settings[InputOptions].bounds, settings[HavocOptions], settings[NoiseOptions].sigma
    unbounded = isinstance(context.domain, ValueRange) and math.isinf(context.domain.high)
    if options.special_values and not unbounded:
        raise UsageError("--special-values are in no range: give --range=-inf,inf, or leave them out")
    if "nan" in options.special_values and options.havoc_radius is not None:
        raise UsageError(
            "--special-values nan is near no seed: leave it out, or seek with --oracle what needs no radius"
        )
    dtype = context.seeds.inputs.dtype
    return Havoc(low, high, sigma, options.havoc_radius, options.special_values, dtype)


HAVOC = Part(first_line(Havoc), in_domain(_havoc), (NoiseOptions, HavocOptions))

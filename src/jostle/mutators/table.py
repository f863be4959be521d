"""Steps of a few columns of a table, within its domain and near the root seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import starmap

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.table import Table
from jostle.inputs.table_groups import Together
from jostle.lineage import MADE, THEN, UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.noise import SIGMA_SHARE, NoiseOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import HELD, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates

AT_ONCE = 3  # columns that one mutation changes at most
REMEMBERED = 2**16  # mutations by their columns, because making one takes longer than a step


@dataclass(frozen=True)
class TableOptions:
    """How many columns change, and whether they change together."""

    columns: int = option(HELD, "Most columns of a table that differ from the root seed", Theme.MUTATION, default=3)
    joint: float = option(
        number("give a share from 0 to 1", at_least=0, at_most=1),
        "Share of children that take columns together from another seed",
        Theme.MUTATION,
        default=0.0,
    )


class TableSteps:
    """Steps of a few columns: Gaussian ones of numbers, another category, or columns together from another seed.

    Steps and radius are shares of each column's span. With a radius below 1, booleans and categories keep what the root
    holds, because any other value is as far away as it can be; integers may always be one off.
    """

    def __init__(
        self,
        table: Table,
        seeds: Tensor,  # [seeds, columns], from which columns are taken together
        sigma: float = SIGMA_SHARE,
        radius: float | None = None,
        columns: int = TableOptions.columns,
        joint: float = TableOptions.joint,
    ):
        check(NoiseOptions, sigma=sigma, radius=radius)
        check(TableOptions, columns=columns, joint=joint)
        self._table, self._seeds, self._most, self._joint = table, seeds, columns, joint
        self._scale = sigma * table.span
        self._reach = None if radius is None else _reach(table, radius)
        self._free = _free_columns(table, self._reach)
        self._unordered = bool(table.unordered[self._free].any())
        self._groups = [(group, torch.tensor(group.columns)) for group in table.groups]
        self._codes, self._gapped = _padded_codes(table), any(column.gapped for column in table.columns)
        names = [name.replace(MADE, ":").replace(THEN, "+") for name in table.names]
        self._names = [*(f"step {name}" for name in names), *(f"{name} of another seed" for name in names)]
        self._named = lru_cache(maxsize=REMEMBERED)(self._mutation)

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        inputs, roots = parents.inputs, parents.references
        low, high = self._bounds(roots)
        columns = self._drawn(len(parents), rng)
        values, donors = self._steps(inputs, columns, low, high, rng), None
        if self._joint:
            donors = self._donors(len(parents), rng)
            taken = donors.gather(1, columns)
            values = torch.where(taken.isnan(), values, taken)
        children = inputs.clone()
        for slot in range(columns.shape[1]):  # one after another, because a column may be drawn twice
            children.scatter_(1, columns[:, slot : slot + 1], values[:, slot : slot + 1])
        self._change_groups(children, inputs, donors, rng)
        children = self._within_most(self._table.bounded(children, roots, low, high), inputs, roots, rng)
        return replace(parents, inputs=children, mutations=self._mutations(columns, donors, children == inputs))

    def _bounds(self, roots: Tensor) -> tuple[Tensor, Tensor]:
        """Between what values each child may be, [columns] or [batch, columns]."""
        low, high = self._table.low, self._table.high
        if self._reach is None:
            return low, high
        return torch.maximum(roots - self._reach, low), torch.minimum(roots + self._reach, high)

    def _drawn(self, rows: int, rng: torch.Generator) -> Tensor:
        """The columns that change [rows, some]; where they are fewer, the first stands for the others."""
        most = min(AT_ONCE, self._most, len(self._free))
        columns = self._free[torch.randint(len(self._free), (rows, most), generator=rng)]
        count = torch.randint(1, most + 1, (rows, 1), generator=rng)
        return torch.where(torch.arange(most) < count, columns, columns[:, :1])

    def _donors(self, rows: int, rng: torch.Generator) -> Tensor:
        """Seeds to take columns from [rows, columns], NaN for children that take none."""
        donors = self._seeds[torch.randint(len(self._seeds), (rows,), generator=rng)]
        return torch.where(torch.rand(rows, 1, generator=rng) < self._joint, donors, torch.nan)

    def _steps(self, inputs: Tensor, columns: Tensor, low: Tensor, high: Tensor, rng: torch.Generator) -> Tensor:
        """New values of the columns drawn [batch, some], each other than before and within its bounds."""
        before = inputs.gather(1, columns)
        low, high = (ends.expand_as(inputs).gather(1, columns) for ends in (low, high))
        steps = torch.randn(columns.shape, generator=rng) * self._scale[columns]
        whole = steps.sign() * (steps.abs().floor() + 1)
        steps = torch.where(self._table.whole[columns], whole, steps)
        steps = torch.maximum(torch.minimum(steps, high - low), low - high)
        after = before + steps
        after = torch.where((after > high) | (after < low), before - steps, after)
        if not self._unordered:
            return after
        return torch.where(self._table.unordered[columns], self._other_codes(before, columns, rng), after)

    def _other_codes(self, before: Tensor, columns: Tensor, rng: torch.Generator) -> Tensor:
        """Another code of each column drawn [batch, some], all alike likely."""
        codes, counts = self._codes
        count = counts[columns]
        further = (torch.rand(columns.shape, generator=rng) * (count - 1)).floor() + 1
        if not self._gapped:
            return (before + further) % count
        own = codes[columns]  # [batch, some, codes]
        place = (own == before[..., None]).int().argmax(2)
        return own.gather(2, ((place + further) % count).long()[..., None]).squeeze(2)

    def _change_groups(self, children: Tensor, inputs: Tensor, donors: Tensor | None, rng: torch.Generator) -> None:
        """Columns that belong together change together, and are taken together."""
        for group, places in self._groups:
            before, after = inputs[:, places], children[:, places]
            touched = (after != before).any(1, keepdim=True)
            if group.together is Together.ONE_HOT:  # anywhere else
                elsewhere = torch.rand(before.shape, generator=rng) - before
                after = torch.where(touched, elsewhere, before)
            if donors is not None:
                after = torch.where(touched & ~donors[:, places].isnan(), donors[:, places], after)
            children[:, places] = after

    def _within_most(self, children: Tensor, inputs: Tensor, roots: Tensor, rng: torch.Generator) -> Tensor:
        """Children of which no more columns differ from the root than may: others are as in the root again."""
        changed = self._once_by_group(children != roots)
        over = (changed.sum(1) > self._most).nonzero().squeeze(1)
        if not len(over):
            return children
        changed, new = changed[over], self._once_by_group(children[over] != inputs[over])
        order = torch.rand(changed.shape, generator=rng) + new.float()
        kept = torch.where(changed, order, -1.0).topk(self._most, dim=1).indices
        undone = changed.scatter(1, kept, False)
        for _, places in self._groups:
            undone[:, places] = undone[:, places[:1]]
        children[over] = torch.where(undone, roots[over], children[over])
        return children

    def _once_by_group(self, changed: Tensor) -> Tensor:
        """[batch, columns] bool, where the first column of a group stands for all of it."""
        for _, places in self._groups:
            together = changed[:, places].any(1)
            changed[:, places] = False
            changed[:, places[0]] = together
        return changed

    def _mutations(self, columns: Tensor, donors: Tensor | None, same: Tensor) -> Mutations:
        """What made each child, given where it is the same as its parent [batch, columns]."""
        if donors is not None:
            columns = torch.where(donors[:, :1].isnan(), columns, columns + len(self._table.columns))
        made = list(starmap(self._named, columns.sort(1).values.tolist()))
        for row in same.all(1).nonzero().squeeze(1).tolist():
            made[row] = UNCHANGED
        return Mutations.of(made)

    def _mutation(self, *drawn: int) -> Mutation:
        """The mutation that changed these columns."""
        return Mutation(tuple(dict.fromkeys(self._names[place] for place in drawn)))


def _reach(table: Table, radius: float) -> Tensor:
    """How far from the root each column may be [columns]."""
    reach = radius * table.span
    reach = torch.where(table.whole, reach.floor().clamp(min=1), reach)
    reach[table.unordered] = torch.inf if radius >= 1 else 0.0
    for group in table.groups:
        if group.together is Together.ORDERED:  # the same for all, so that bounds are in order where roots are
            reach[list(group.columns)] = reach[list(group.columns)].min()
    return reach


def _free_columns(table: Table, reach: Tensor | None) -> Tensor:
    """The columns that may change, as positions."""
    free = ~table.fixed & (table.span > 0)
    if not free.any():
        raise UsageError(
            "every column is the same in all seeds, so there is nothing to change: give more seeds, or what columns "
            "may hold as --domain"
        )
    if reach is not None:
        free &= reach > 0
    if not free.any():
        raise UsageError("all columns are booleans or categories, which a radius below 1 keeps: give --radius 1")
    return free.nonzero().squeeze(1)


def _padded_codes(table: Table) -> tuple[Tensor, Tensor]:
    """The codes of booleans and categories [columns, most], NaN beyond the last, and how many each has [columns]."""
    codes = [(one.codes or (0.0, 1.0)) if one.unordered else (0.0,) for one in table.columns]
    most = max(map(len, codes))
    padded = torch.tensor([[*own, *[torch.nan] * (most - len(own))] for own in codes])
    return padded, torch.tensor([len(own) for own in codes])


def _table_steps(settings: Settings, context: PartContext) -> TableSteps:
    noise, options, domain = settings[NoiseOptions], settings[TableOptions], context.domain
    if not isinstance(domain, Table):
        raise UsageError(
            f"--mutator table is for tables, and these inputs are of kind {domain.kind}: use --mutator {domain.mutator}"
        )
    return TableSteps(domain, context.seeds.inputs, noise.sigma, noise.radius, options.columns, options.joint)


TABLE_STEPS = Part(first_line(TableSteps), _table_steps, (NoiseOptions, TableOptions))

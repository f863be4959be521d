"""What made each input of a batch, as columns: an object and a text for every row would cost more than the row does."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import torch
from torch import Tensor

from jostle.lineage import Change, Mutation

MOST_KNOWN = 2**14  # forms of collected mutations that are recognised when they come again
ALIKE = (Change.UNCHANGED, Change.NO_GRADIENT)  # the child came out like its parent


@dataclass(frozen=True, eq=False)
class Mutations(Sequence[Mutation]):
    """The mutation of each row: one of a few forms and, where its last operation takes one, a parameter."""

    forms: Sequence[Mutation]  # more may be added at the end, none changes
    numbers: Tensor  # [batch] which of the forms
    parameters: Tensor  # [batch] of the last operation, NaN where the form says all

    @staticmethod
    def of(mutations: Iterable[Mutation]) -> Mutations:
        """Of mutations that are told one by one."""
        known: dict[Mutation, int] = {}
        numbers = torch.tensor([known.setdefault(one, len(known)) for one in mutations], dtype=torch.int64)
        return Mutations(tuple(known), numbers, torch.full((len(numbers),), torch.nan, dtype=torch.float32))

    @staticmethod
    def all_of(mutation: Mutation, rows: int) -> Mutations:
        """The same for every row."""
        return Mutations((mutation,), torch.zeros(rows, dtype=torch.int64), torch.full((rows,), torch.nan))

    @staticmethod
    def joined(parts: Sequence[Mutations]) -> Mutations:
        """The rows of several batches, one after another."""
        collected = CollectedMutations()
        for part in parts:
            collected.add(part)
        return collected.all()

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, row: int) -> Mutation: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[Mutation, ...]: ...
    def __getitem__(self, row: int | slice) -> Mutation | tuple[Mutation, ...]:
        if isinstance(row, slice):
            return tuple(self)[row]
        return _with_parameter(self.forms[int(self.numbers[row])], float(self.parameters[row]))

    def __iter__(self) -> Iterator[Mutation]:
        columns = zip(self.numbers.tolist(), self.parameters.tolist(), strict=True)
        return (_with_parameter(self.forms[number], parameter) for number, parameter in columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    @property
    def changed(self) -> Tensor:
        """[batch] bool: false of children that came out like their parents."""
        return ~self._came_to(*ALIKE)

    @property
    def of_seeds(self) -> Tensor:
        """[batch] bool: true where there was none."""
        return self._came_to(Change.SEED)

    @property
    def without_gradient(self) -> Tensor:
        """[batch] bool: true where the gradient needed to go on is not finite."""
        return self._came_to(Change.NO_GRADIENT)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """[batch] each as it is written down."""
        numbers = self.numbers.tolist()
        forms = {number: str(self.forms[number]) for number in set(numbers)}
        columns = zip(numbers, self.parameters.tolist(), strict=True)
        return tuple(_text(forms[number], parameter) for number, parameter in columns)

    def select(self, rows: Tensor) -> Mutations:
        """Those of these rows, given as positions."""
        return Mutations(self.forms, self.numbers.index_select(0, rows), self.parameters.index_select(0, rows))

    def made_by(self, mutator: str) -> Mutations:
        """The same, where anything changed with the name of the mutator, one of several."""
        signed = (form._replace(mutator=mutator) if form.change is Change.CHANGED else form for form in self.forms)
        return replace(self, forms=tuple(signed))

    def _came_to(self, *changes: Change) -> Tensor:
        """[batch] bool: whose mutation came to one of these."""
        used, places = self.numbers.unique(return_inverse=True)
        claims = [self.forms[number].change in changes for number in used.tolist()]
        return torch.tensor(claims, dtype=torch.bool)[places]


class CollectedMutations:
    """Mutations of more and more rows, in order; grows by doubling, so adding stays cheap."""

    def __init__(self) -> None:
        self._forms = Forms()
        self._numbers = torch.empty(0, dtype=torch.int64)
        self._parameters = torch.empty(0, dtype=torch.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, mutations: Mutations) -> None:
        start, self._count = self._count, self._count + len(mutations)
        self._numbers, self._parameters = (with_room(one, self._count) for one in (self._numbers, self._parameters))
        used, places = mutations.numbers.unique(return_inverse=True)  # rows may have been selected of many others
        numbers = torch.tensor(
            [self._forms.number(mutations.forms[number]) for number in used.tolist()], dtype=torch.int64
        )
        self._numbers[start : self._count] = numbers[places]
        self._parameters[start : self._count] = mutations.parameters

    def all(self) -> Mutations:
        return Mutations(self._forms, self._numbers[: self._count], self._parameters[: self._count])


class Forms(Sequence[Mutation]):
    """More and more forms, in the order of arrival.

    The first ones are recognised when they come again. Once there are many, others are kept as texts, each time anew,
    because texts of which hardly any comes twice take a fraction of the memory of objects.
    """

    def __init__(self) -> None:
        self._known: dict[Mutation, int] = {}
        self._first: list[Mutation] = []
        self._texts, self._ends = bytearray(), array("q", [0])

    def __len__(self) -> int:
        return len(self._first) + len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> Mutation: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Mutation, ...]: ...
    def __getitem__(self, number: int | slice) -> Mutation | tuple[Mutation, ...]:
        if isinstance(number, slice):
            return tuple(self)[number]
        if number < len(self._first):
            return self._first[number]
        place = number - len(self._first)
        start, end = self._ends[place], self._ends[place + 1]
        return Mutation.parsed(self._texts[start:end].decode("utf-8", "surrogatepass"))

    def number(self, form: Mutation) -> int:
        """By which the form is found, which is added if it is not known."""
        known = self._known.get(form)
        if known is not None:
            return known
        if len(self._first) < MOST_KNOWN:
            self._known[form] = len(self._first)
            self._first.append(form)
        else:
            self._texts += str(form).encode("utf-8", "surrogatepass")
            self._ends.append(len(self._texts))
        return len(self) - 1


def with_room(rows: Tensor, needed: int) -> Tensor:
    """The same rows with space for at least `needed` of them, and for twice as many where there was too little."""
    if needed <= len(rows):
        return rows
    grown = rows.new_empty(max(needed, 2 * len(rows), 64), *rows.shape[1:])
    grown[: len(rows)] = rows
    return grown


def _with_parameter(form: Mutation, parameter: float) -> Mutation:
    if parameter != parameter:  # NaN
        return form
    *before, last = form.operations
    return form._replace(operations=(*before, _text(last, parameter)))


def _text(form: str, parameter: float) -> str:
    return form if parameter != parameter else f"{form} {parameter:.3g}"

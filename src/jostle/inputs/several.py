"""Several inputs at once: each with its own domain, some fixed, some recomputed from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.domain import Domain, Outside
from jostle.errors import UsageError
from jostle.inputs.geometry import IMAGE_LIKE, Border, Placements, border_of, placed, unmoved
from jostle.layout import Layout
from jostle.lineage import Lineage
from jostle.records import Seeds

SEVERAL = "several"
INPUT = "input"  # the key of a domain file below which inputs stand
MOVES_IMAGES = ("metamorphic",)
MOVES = (*MOVES_IMAGES, "audio")  # mutators that move inputs, so that references move with them
INTEGER_KINDS = ("tokens",)  # kinds of domains whose values are whole numbers, not floats that were rounded


@dataclass(frozen=True)
class Mask:
    """An input that tells which values of another one count: 1 where they are not padding, else 0."""

    of: str
    padding: float

    def values(self, others: Tensor) -> Tensor:
        return (others != self.padding).float()


@dataclass(frozen=True)
class Several:
    """Every input in its own domain; what nothing changes stays as in the root, and masks follow what they mask."""

    layout: Layout
    domains: Mapping[str, Domain]
    mutators: Mapping[str, str]  # by input what changes it; whatever is not there is fixed
    masks: Mapping[str, Mask]
    kind: str = SEVERAL
    mutator: str = "each"

    def of(self, name: str, rows: Tensor) -> Tensor:
        """One input [batch, ...] of rows [batch, total] as domain and mutator take it; single ones are [batch, 1]."""
        values = self.layout.values(rows, name).reshape(len(rows), *(self.layout.field(name).shape or (1,)))
        return values.round().long() if self.domains[name].kind in INTEGER_KINDS else values

    def alone(self, name: str, seeds: Seeds) -> Seeds:
        """The seeds of one input, as if there were no others."""
        return replace(seeds, inputs=self.of(name, seeds.inputs), domain=self.domains[name])

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        inside = roots.clone()
        for name in self.mutators:
            values = self.domains[name].nearest(self.of(name, inputs), self.of(name, roots))
            self.layout.replaced(inside, name, values.round() if self.layout.field(name).whole else values)
        for name, mask in self.masks.items():
            self.layout.replaced(inside, name, mask.values(self.layout.values(inside, mask.of)))
        return inside

    def outside(self, inputs: Tensor) -> Outside | None:
        places = (place for name in self.layout.names for place in self._outside(name, inputs))
        return min(places, key=lambda place: place.row, default=None)

    def _outside(self, name: str, inputs: Tensor) -> Iterator[Outside]:
        values = self.layout.values(inputs, name)
        fraction = (values != values.round()).view(len(inputs), -1).any(1)
        if self.layout.field(name).whole and fraction.any():
            row = int(fraction.nonzero()[0])
            yield Outside(row, f"{name} holds a fraction, and must hold whole numbers")
        place = self.domains[name].outside(self.of(name, inputs))
        if place is not None:
            yield Outside(place.row, f"{name}: {place.problem}")
        if name in self.masks:
            mask = self.masks[name]
            wrong = (values != mask.values(self.layout.values(inputs, mask.of))).view(len(inputs), -1).any(1)
            yield from (Outside(int(row), f"{name} is no mask of {mask.of}") for row in wrong.nonzero()[:1])

    def lines(self) -> list[str]:
        return [self._line(name) for name in self.layout.names] + [
            f"{name}: {line}" for name in self.mutators for line in self.domains[name].lines()
        ]

    def _line(self, name: str) -> str:
        field, domain = self.layout.field(name), self.domains[name]
        if name in self.masks:
            return f"{name} {list(field.shape)}: follows {self.masks[name].of}, 0 where that is padding"
        changed = f"changed by {self.mutators[name]}" if name in self.mutators else "fixed"
        return f"{name} {list(field.shape)}: {domain.kind}, {changed}"

    def as_toml(self) -> dict[str, Any]:
        domains = {name: domain.as_toml() for name, domain in self.domains.items()}
        return {"kind": self.kind, INPUT: domains}

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        """The named arrays, as the model takes them, and what each domain shows of its own."""
        files = {"input.npz": self._arrays(input), "reference.npz": self._arrays(reference)}
        for name, domain in self.domains.items():
            one, other = (self.of(name, row[None])[0] for row in (input, reference))
            files |= {f"{name}.{file}": content for file, content in domain.files(one, other).items()}
        return files

    def _arrays(self, row: Tensor) -> bytes:
        content = BytesIO()
        arrays = {name: value.numpy() for name, value in self.layout.unpacked(row[None]).items()}
        np.savez(content, allow_pickle=False, **arrays)
        return content.getvalue()

    @property
    def moved(self) -> str | None:
        """The input that a mutator moves, so that references move with it."""
        return next((name for name, mutator in self.mutators.items() if mutator in MOVES), None)

    @property
    def images(self) -> tuple[str, ...]:
        """The inputs that answers by place, such as masks and boxes, may be about: the one that is moved, or all."""
        alike = tuple(field.name for field in self.layout.fields if len(field.shape) in IMAGE_LIKE)
        return (self.moved,) if self.moved in alike else alike

    def placed(self, rows: Tensor, border: Border = Border.DARK) -> Lineage:
        """The lineage with these placements [batch, 2, 3]."""
        if self.moved is None:
            return Placements(rows, border)
        return PlacementsOfOne(placed(self.domains[self.moved], rows, border), self.layout, self.moved)


@dataclass(frozen=True)
class PlacementsOfOne:
    """The lineage of rows of several inputs, of which one is moved."""

    own: Lineage  # of that input alone
    layout: Layout
    name: str  # of the input that is moved

    @property
    def rows(self) -> Tensor:
        return self.own.rows

    @property
    def moved(self) -> Tensor:
        return self.own.moved

    @property
    def border(self) -> Border:
        return border_of(self.own)

    def with_rows(self, rows: Tensor) -> PlacementsOfOne:
        return PlacementsOfOne(self.own.with_rows(rows), self.layout, self.name)

    def untouched(self, count: int) -> PlacementsOfOne:
        return PlacementsOfOne(self.own.untouched(count), self.layout, self.name)

    def references(self, originals: Tensor) -> Tensor:
        """The roots, of which the one input is moved as it was."""
        if not self.moved.any():
            return originals
        placed = self.own.references(self.layout.values(originals, self.name).clone())
        return self.layout.replaced(originals, self.name, placed)


def image_shape(seeds: Seeds) -> tuple[int, ...]:
    """The shape of the images that answers are about; of several inputs without any, or with different ones, none."""
    if not isinstance(seeds.domain, Several):
        return tuple(seeds.inputs.shape[1:])
    shapes = {seeds.domain.layout.field(name).shape for name in seeds.domain.images}
    return shapes.pop() if len(shapes) == 1 else ()


def image_placements(lineage: Lineage) -> Tensor:
    """How images were moved [batch, 2, 3], alone or as one of several inputs; other inputs move without them."""
    if not isinstance(lineage, PlacementsOfOne):
        return Placements.of(lineage).rows
    return lineage.rows if isinstance(lineage.own, Placements) else unmoved(len(lineage.rows))


def check_image_among(oracle: str, seeds: Seeds) -> None:
    """Refuses several inputs that do not tell which image the answers are about."""
    if not isinstance(seeds.domain, Several) or image_shape(seeds):
        return
    images, names = seeds.domain.images, ", ".join(seeds.domain.layout.names)
    if images:
        raise UsageError(
            f"--oracle {oracle} cannot tell which of the images {', '.join(images)} answers are about, because their "
            f"shapes differ: give --input {images[0]}=metamorphic, or leave {oracle} out"
        )
    raise UsageError(f"--oracle {oracle} needs an image, and none of the inputs {names} is one: leave {oracle} out")


def mask_among(name: str, arrays: Mapping[str, Tensor]) -> Mask | None:
    """What an input [seeds, ...] of whole numbers masks, if it tells where another one is padded; else None."""
    own = arrays[name]
    if own.is_floating_point() or not torch.isin(own.long(), torch.tensor([0, 1])).all():
        return None
    hidden = own.long() == 0
    for other, values in arrays.items():
        if other != name and values.shape == own.shape and not values.is_floating_point() and hidden.any():
            paddings = values[hidden].unique()
            if len(paddings) == 1 and torch.equal(values == paddings, hidden):
                return Mask(other, float(paddings))
    return None


def layout_of(seeds: Seeds) -> Layout | None:
    """Where in a row each of several inputs lies; None where there is one."""
    return seeds.domain.layout if isinstance(seeds.domain, Several) else None

"""The way from a seed to an input gone again, with some steps left out and others gone less far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.inputs.geometry import IMAGE_LIKE, Border, place, unmoved
from jostle.lineage import Mutation
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Linear, blur

DIGITS = 2  # of a parameter that was made smaller
TEXT = ".3g"  # how parameters stand in texts
# What leaves an image as it is, by transformation; `noise` is left out, because its text does not tell which it was.
NEUTRAL = {"contrast": 1.0, "brightness": 0.0, "translation": 0.0, "scaling": 1.0, "shearing": 0.0, "rotation": 0.0}
MILDEST_FIRST = (4, 1, 5, 2, 6, 3)  # kernels of `blur` by how far they spread a pixel; 4.25 is a quarter of the first
UNUSED = torch.Generator()  # transformations that can be made again draw nothing


@dataclass(frozen=True)
class Transformation:
    """An image transformation with its parameter, as the text of a mutation names them."""

    name: str
    parameter: float

    @staticmethod
    def of(mutation: Mutation) -> Transformation | None:
        """None where the text does not tell what was done."""
        if len(mutation.operations) != 1 or mutation.mutator not in ("", "metamorphic"):
            return None
        name, _, number = mutation.operations[0].partition(" ")
        try:
            parameter = float(number)
        except ValueError:
            return None
        known = math.isfinite(parameter) and (
            name in NEUTRAL or (name == "blur" and math.floor(parameter) in MILDEST_FIRST)
        )
        return Transformation(name, parameter) if known else None

    @property
    def moves(self) -> bool:
        return isinstance(TRANSFORMS[self.name], Affine)

    def lessened(self, share: float) -> Transformation:
        """The same by this share of its way from nothing, above 0; parameters are of few digits, and go no farther."""
        if share == 1:
            return self
        if self.name == "blur":
            kernel, taken = divmod(round(100 * self.parameter), 100)
            if taken:  # hundredths of the kernel
                return Transformation(self.name, kernel + math.ceil(share * taken - 1e-9) / 100)
            milder = MILDEST_FIRST[: MILDEST_FIRST.index(kernel) + 1]
            return Transformation(self.name, milder[math.ceil(share * len(milder)) - 1])
        neutral = NEUTRAL[self.name]
        less = _few_digits(share * (self.parameter - neutral))
        if abs(less) > abs(self.parameter - neutral):
            return self
        return Transformation(self.name, float(f"{neutral + less:{TEXT}}"))

    @property
    def mutation(self) -> Mutation:
        return Mutation((f"{self.name} {self.parameter:{TEXT}}",))


def _few_digits(value: float) -> float:
    """The next number of so many digits, away from 0."""
    if not value:
        return value
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    return math.copysign(math.ceil(abs(value) / unit - 1e-9) * unit, value)


@dataclass(frozen=True)
class MutationStep:
    """One step of the way: a transformation that can be made again, or else what it changed."""

    mutation: Mutation
    change: Tensor  # [...] of the values, from parent to child


@dataclass(frozen=True)
class ReplayedWay:
    """What going a way again came to."""

    input: Tensor  # [...]
    placement: Tensor  # [2, 3] how it was moved
    mutations: tuple[Mutation, ...]  # that were left
    from_texts: bool  # their texts alone tell all that was done


class Way:
    """From a seed to an input. Each step can be gone again by a share of how far it went then."""

    def __init__(self, seed: Tensor, steps: Sequence[MutationStep], placement: Tensor, bounds: tuple[float, float]):
        """The placement [2, 3] is how the input was moved in all; values without bounds are those of no image."""
        self._seed, self._steps, self._placement = seed, steps, placement
        self._low, self._high = bounds
        image = seed.ndim in IMAGE_LIKE and all(map(math.isfinite, bounds))
        self._known = [Transformation.of(step.mutation) if image else None for step in steps]

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def can_be_replayed(self) -> bool:
        """Whether it can be gone again: at most one step moves the image, and is known if the image was moved."""
        moving = sum(one is not None and one.moves for one in self._known)
        return moving == int(bool((self._placement != unmoved(1)[0]).any()))

    def replayed(self, shares: Sequence[float], border: Border) -> ReplayedWay:
        """The way with each step by its share; those of 0 are left out."""
        values, placement = self._seed.float()[None], unmoved(1)
        mutations: list[Mutation] = []
        for step, known, share in zip(self._steps, self._known, shares, strict=True):
            if not share:
                continue
            if known is None:
                values, made = values + share * step.change[None].float(), step.mutation
            else:
                less = known.lessened(share)
                values, placement, made = *self._transformed(values, placement, less, share, border), less.mutation
            values = values.clamp(self._low, self._high)
            mutations.append(made)
        kept = values if self._seed.is_floating_point() else values.round()
        from_texts = all(known is not None for known, share in zip(self._known, shares, strict=True) if share)
        return ReplayedWay(kept[0].to(self._seed.dtype), placement[0], tuple(mutations), from_texts)

    def _transformed(
        self, values: Tensor, placement: Tensor, less: Transformation, share: float, border: Border
    ) -> tuple[Tensor, Tensor]:
        transform, given = TRANSFORMS[less.name], torch.tensor([less.parameter])
        span = self._high - self._low
        planes = (values.flatten(1, -3) - self._low) / span
        if isinstance(transform, Linear):
            planes = planes * given if transform.scales else planes + given
        elif isinstance(transform, Filter):
            planes = blur(planes, given, UNUSED)
        else:
            placement = self._movement(transform, less, share, planes)
            planes = place(planes, placement, border)
        return (planes * span + self._low).view_as(values), placement

    def _movement(self, transform: Affine, less: Transformation, share: float, planes: Tensor) -> Tensor:
        """[1, 2, 3]; in which direction an image was shifted, only its placement tells."""
        if less.name == "translation":
            shift, recorded = unmoved(1), self._placement[:, 2]
            shift[0, :, 2] = recorded if share == 1 else recorded * (2 * abs(less.parameter) / recorded.norm())
            return shift
        if share == 1:
            return self._placement[None].clone()
        return transform.movement(torch.tensor([less.parameter]), UNUSED, planes.shape[2] / planes.shape[3])

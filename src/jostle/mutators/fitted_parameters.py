"""Parameters drawn where Equation 1 of DeepHunter holds, and which tries need not be made to see that it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from jostle.inputs.geometry import Border
from jostle.mutators.transforms import (
    Affine,
    Filter,
    Linear,
    Transform,
    blur,
    blurred_fully,
    noise,
    share_of,
    with_share,
)

VISIBLE = 1 / 510  # of the value range: less than half a step of eight bits is no change
ROUNDING = 1e-6
MARGIN = 2 * ROUNDING  # so that what was drawn at the end of an interval holds after rounding too
FAINT = 0.005  # of the value range
MILDEST = 4  # of the kernels: a Gaussian of 3 pixels
SMALLEST = 1e-9  # stands for 0 where values divide

Many = Callable[[Tensor], Tensor]  # [rows, ...] bool -> [rows] whether more values are meant than may change at all


@dataclass(frozen=True)
class Closeness:
    """Equation 1: few values differ from the reference by any amount, or all of them by less than beta."""

    beta: float
    many: Many

    def holds(self, references: Tensor, children: Tensor) -> Tensor:
        """[rows]; spoils the references."""
        change = references.sub_(children).abs_()
        good = change.flatten(1).amax(1) < self.beta - ROUNDING
        rows = (~good).nonzero().squeeze(1)
        if len(rows):
            good[rows] = ~self.many(change.index_select(0, rows) > VISIBLE)
        return good

    def far(self, references: Tensor, children: Tensor) -> Tensor:
        """[rows] whether any value differs by beta."""
        return (references - children).abs_().flatten(1).amax(1) >= self.beta - ROUNDING

    def fitted_factors(self, images: Tensor, references: Tensor, transform: Linear, parameters: Tensor) -> Tensor:
        """Parameters [rows] of contrast or brightness, moved from the whole range into where no value changes by beta.

        They lie in the same share of it as before. Rows without such a parameter keep theirs.
        """
        room = self.beta - MARGIN
        # A child is cut off at 0 and 1, so that a reference nearer to these than that bounds nothing.
        down = functional.threshold(references - room, 0, -torch.inf)
        negated_up = functional.threshold(torch.rsub(references, -room), -1, -torch.inf)
        if transform.scales:
            divisors = images.clamp(min=SMALLEST)
            down, negated_up = down.div_(divisors), negated_up.div_(divisors)
        else:
            down, negated_up = down.sub_(images), negated_up.add_(images)
        low = down.flatten(1).amax(1).clamp_(min=transform.low)
        high = negated_up.flatten(1).amax(1).neg_().clamp_(max=transform.high)
        place = (parameters - transform.low) / max(transform.high - transform.low, SMALLEST)
        return torch.where(low < high, low + place * (high - low), parameters)

    def blurred(self, images: Tensor, references: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Images blurred by the kernel of each drawn number [rows], as far as no value changes by beta; parameters.

        Where the whole kernel goes too far, the fraction of the number tells how much of what is left is taken.
        """
        kernels = drawn.floor()
        full = blurred_fully(images, kernels)
        change, before = full - images, images - references
        room = (self.beta - MARGIN - before * change.sign()).div_(change.abs().clamp_(min=SMALLEST))
        most = room.flatten(1).amin(1)
        whole = (most >= 1) | ~self.many((full - references).abs_() > VISIBLE)
        parameters = with_share(kernels, torch.where(whole, 1.0, (drawn - kernels) * most))
        return images.lerp(full, share_of(parameters).view(-1, 1, 1, 1)), parameters


class Prospects:
    """Of each parent, which transformations have no effect on it, and whether its values have room to change."""

    def __init__(
        self,
        images: Tensor,  # [parents, planes, height, width] from 0 to 1, like the references
        references: Tensor,
        transforms: Sequence[Transform],
        closeness: Closeness,
        border: Border,
    ):
        self.without_effect = without_effect(images, transforms, border)
        self._spent, self._blurs_widely = _without_room(images, references, closeness)
        self._linear = torch.tensor([isinstance(one, Linear) for one in transforms])
        self._blurs, self._noises = (
            torch.tensor([isinstance(one, Filter) and one.change is change for one in transforms])
            for change in (blur, noise)
        )

    def hopeless(self, kinds: Tensor, parameters: Tensor) -> Tensor:
        """Which tries [parents, tries] need not be made to see that they do nothing or go too far.

        What differs from its reference by beta already has room for changes of few values only. Of tries that would
        have succeeded, at most about one in a hundred is lost, such as one that leads back to the reference.
        """
        wide = self._linear[kinds] | (self._noises[kinds] & (parameters > FAINT))
        wide |= self._blurs[kinds] & self._blurs_widely[:, None]
        return self.without_effect.gather(1, kinds) | (self._spent[:, None] & wide)


def without_effect(images: Tensor, transforms: Sequence[Transform], border: Border) -> Tensor:
    """[images, transforms] whether a transformation changes nothing in an image [planes, height, width]."""
    flat = images.flatten(1)
    least, most = flat.amin(1), flat.amax(1)  # torch's aminmax is ten times slower
    black, even = most <= VISIBLE, most - least <= VISIBLE
    stays = unmovable(images, border)
    return torch.stack([_stays_the_same(transform, black, even, stays) for transform in transforms], 1)


def unmovable(images: Tensor, border: Border) -> Tensor:
    """[images] whether moving an image [planes, height, width] changes nothing in it."""
    flat = images.flatten(1)
    most = flat.amax(1)
    return most <= VISIBLE if border is Border.DARK else most - flat.amin(1) <= VISIBLE


def _stays_the_same(transform: Transform, black: Tensor, even: Tensor, moved_alike: Tensor) -> Tensor:
    """[parents] whether the transformation changes nothing in them."""
    if isinstance(transform, Affine):
        return moved_alike
    if isinstance(transform, Linear):
        return black & transform.scales
    return even & (transform.change is blur)


def _without_room(images: Tensor, references: Tensor, closeness: Closeness) -> tuple[Tensor, Tensor]:
    """[parents] which differ from their reference by beta, and of which a mild blur changes more than a few values.

    Those nearly all black or white are left out, because any change of them is one of few values.
    """
    spent = closeness.far(references, images)
    widely, rows = torch.zeros_like(spent), spent.nonzero().squeeze(1)
    if len(rows):
        some, others = images.index_select(0, rows), references.index_select(0, rows)
        spent[rows] = closeness.many(some > FAINT) & closeness.many(some < 1)
        blurred = blurred_fully(some, torch.full((len(rows),), MILDEST, dtype=torch.float32))
        widely[rows] = closeness.many(blurred.sub_(others).abs_() > FAINT)
    return spent, widely

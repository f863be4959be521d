"""DeepHunter's metamorphic mutation (Algorithm 2): pixel steps as far as Equation 1 allows, at most one affine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.geometry import Border, Placements, place
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.mutators.fitted_parameters import VISIBLE, Closeness, Prospects, unmovable, without_effect
from jostle.mutators.in_domain import in_domain
from jostle.mutators.transform_ranges import RANGES, transforms_named
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Linear, Transform, blur
from jostle.options.campaign import ChangeOptions, InputOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import NAMES, choice, number, whole
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates
from jostle.step_records import Tries

MOST_TRIES = 1000
AT_ONCE = (1, 4, 15)  # tries of a row that are made together, one round after another, and then the last again
NO_KIND = -1


@dataclass(frozen=True)
class MetamorphicOptions:
    """Which image transformations are tried, and how long."""

    transforms: tuple[str, ...] = option(
        NAMES, "Of `metamorphic`: 'rotation=-15:15,noise,blur' (all eight)", Theme.MUTATION, default=()
    )
    ranges: str = option(
        choice(lambda: RANGES),
        "How far transformations go: careful (by the images' size and kind) or as in DeepHunter's paper",
        Theme.MUTATION,
        default="careful",
    )
    border: str = option(
        choice(lambda: list(Border)),
        "What comes in where an image is moved: dark, its own edge, or the image again (reflect)",
        Theme.MUTATION,
        default=Border.DARK.value,
    )
    alpha: float = option(
        number("give a share above 0 and below 1 (alpha 0.02, beta 0.2)", above=0, below=1),
        "Share of values that may change by any amount",
        Theme.MUTATION,
        default=0.02,
    )
    tries: int = option(
        whole(1, MOST_TRIES, f"give a whole number of at least 1 and at most {MOST_TRIES}"),
        "Tries for a meaningful transformation",
        Theme.MUTATION,
        default=50,
    )


@dataclass(frozen=True)
class Ancestors:
    """What Algorithm 2 knows of each parent: itself, its original, and whether and how it was moved."""

    images: Tensor  # [rows, planes, height, width] in shares of the value range, like the originals
    originals: Tensor
    moved: Tensor  # [rows]
    placements: Tensor  # [rows, 2, 3]
    whole: bool  # values are whole numbers


@dataclass(frozen=True)
class Attempt:
    """What some tries came to; a row may have several."""

    order: Tensor  # [tries] which try each of the other fields tells of, because tries of one kind stand together
    images: Tensor  # [tries, planes, height, width]
    placements: Tensor  # [tries, 2, 3]
    kinds: Tensor  # [tries] which transformation
    parameters: Tensor  # [tries]
    good: Tensor  # [tries] whether anything changed, and Equation 1 holds

    def select(self, tries: Tensor) -> Attempt:
        return Attempt(*(field.index_select(0, tries) for field in vars(self).values()))


@dataclass(frozen=True)
class Brood:
    """The children as far as they are made; of a row on which every try fails, all but the image is its parent's."""

    images: Tensor  # [rows, planes, height, width]
    placements: Tensor  # [rows, 2, 3]
    kinds: Tensor  # [rows] which transformation made each, NO_KIND while none has
    parameters: Tensor  # [rows]

    @staticmethod
    def of(ancestors: Ancestors) -> Brood:
        """Of parents that have no child yet."""
        rows = len(ancestors.moved)
        kinds, parameters = torch.full((rows,), NO_KIND), torch.full((rows,), torch.nan, dtype=torch.float32)
        return Brood(torch.empty_like(ancestors.images), ancestors.placements.clone(), kinds, parameters)

    def take(self, rows: Tensor, made: Attempt) -> None:
        """Takes for each of these rows a try, if it is good."""
        self.images.index_copy_(0, rows, made.images)
        good = made.good.nonzero().squeeze(1)
        rows = rows[good]
        self.placements.index_copy_(0, rows, made.placements[good])
        self.kinds.index_copy_(0, rows, made.kinds[good])
        self.parameters.index_copy_(0, rows, made.parameters[good])


class Metamorphic:
    """Eight image transformations that keep the meaning: contrast, brightness, blur, noise, and one affine step.

    A volume or video [channels, depth, height, width] is changed slice by slice, all slices by the same parameter.
    """

    def __init__(
        self,
        low: float,
        high: float,
        alpha: float = MetamorphicOptions.alpha,
        beta: float = ChangeOptions.beta,
        tries: int = MetamorphicOptions.tries,
        transforms: Mapping[str, Transform] = TRANSFORMS,
        border: str = MetamorphicOptions.border,
    ):
        check(MetamorphicOptions, alpha=alpha, tries=tries, border=border)
        check(ChangeOptions, beta=beta)
        if not transforms:
            raise UsageError("there is no transformation to try: name some")
        self._low, self._span = low, high - low
        self._alpha, self._border = alpha, Border(border)
        self._closeness = Closeness(beta, self._many)
        self._widths = _widths(tries)
        # Pixel transformations come first, so that rows in the order of their kind are two blocks.
        self._names = sorted(transforms, key=lambda name: isinstance(transforms[name], Affine))
        self._transforms = [transforms[name] for name in self._names]
        self._pixel_kinds = sum(not isinstance(one, Affine) for one in self._transforms)
        self._lows = torch.tensor([float(one.low) for one in self._transforms])
        counts = torch.tensor([isinstance(one, Filter) and one.counts for one in self._transforms])
        # A parameter that counts is drawn from whole numbers, both ends included.
        self._lengths = torch.tensor([float(one.high - one.low) for one in self._transforms]) + counts
        self._forms = (*(Mutation((name,)) for name in self._names), UNCHANGED)  # the last is that of NO_KIND
        self._made, self._held, self._idle = (torch.zeros(len(transforms), dtype=torch.int64) for _ in range(3))

    def tries(self) -> dict[str, Tries]:
        """How many tries were made so far, by transformation, and how many of them satisfied Equation 1."""
        counts = zip(self._names, self._made.tolist(), self._held.tolist(), self._idle.tolist(), strict=True)
        return {name: Tries(made, held, self._needed(made == idle)) for name, made, held, idle in counts}

    def _needed(self, idle: bool) -> str:
        if idle:
            return "changed anything: it has no effect on these images"
        return (
            f"satisfied Equation 1 (alpha {self._alpha:g}, beta {self._closeness.beta:g}): "
            f"it changes too many values by too much, so raise --beta or leave it out of --transforms"
        )

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        ancestors = self._ancestors(parents)
        brood = Brood.of(ancestors)
        pending = torch.arange(len(parents)) if self._pixel_kinds else (~ancestors.moved).nonzero().squeeze(1)
        for round_number, width in enumerate(self._widths):
            if not len(pending):
                break
            pending = self._try(brood, ancestors, pending, width, round_number > 0, rng)
        inputs = self._values(brood.images.view_as(parents.inputs), parents.inputs)
        unchanged = (brood.kinds == NO_KIND).nonzero().squeeze(1)
        if len(unchanged):
            inputs.index_copy_(0, unchanged, parents.inputs.index_select(0, unchanged))
        mutations = Mutations(self._forms, brood.kinds % len(self._forms), brood.parameters)
        return replace(parents, inputs=inputs, lineage=Placements(brood.placements, self._border), mutations=mutations)

    def _ancestors(self, parents: Candidates) -> Ancestors:
        placements = Placements.of(parents.lineage, self._border)
        if placements.border is not self._border:
            raise UsageError(
                f"images that were moved with border {placements.border} cannot go on with border {self._border}: "
                f"give all mutators of a campaign the same"
            )
        images, originals = self._shares(parents.inputs), self._shares(parents.originals)
        whole = not parents.inputs.is_floating_point()
        return Ancestors(images, originals, placements.moved, placements.rows, whole)

    def _try(
        self, brood: Brood, ancestors: Ancestors, rows: Tensor, width: int, screened: bool, rng: torch.Generator
    ) -> Tensor:
        """Tries so often for each row, of which the first success counts; the rows on which every try fails.

        Screened, tries that are hopeless are not made; where most rows succeed, that would cost more than it saves.
        """
        kinds = self._drawn_kinds(ancestors.moved[rows], width, rng)  # [rows, width]
        draws = torch.rand(kinds.shape, generator=rng, dtype=torch.float32)
        parameters = self._lows[kinds] + self._lengths[kinds] * draws
        promising = torch.ones_like(kinds, dtype=torch.bool)
        if screened:
            promising = ~self._prospects(ancestors, rows).hopeless(kinds, parameters)
        at, which = promising.nonzero(as_tuple=True)
        if not len(at):
            return rows
        attempt = self._attempt(ancestors, rows[at], kinds[at, which], parameters[at, which], rng)
        at, which = at[attempt.order], which[attempt.order]
        if not screened:
            brood.take(rows[at], attempt)
            failed = at[~attempt.good]
            self._count_idle(ancestors.images.index_select(0, rows[failed]), kinds[failed, 0])
            return rows[failed]
        numbers = torch.full(kinds.shape, len(at))  # of the tries that are good
        numbers[at, which] = torch.where(attempt.good, torch.arange(len(at)), len(at))
        first = (numbers < len(at)).long().argmax(1, keepdim=True)
        chosen = numbers.gather(1, first).squeeze(1)
        made = chosen < len(at)
        brood.take(rows[made], attempt.select(chosen[made]))
        return rows[~made]

    def _prospects(self, ancestors: Ancestors, rows: Tensor) -> Prospects:
        images, references = ancestors.images.index_select(0, rows), self._references(ancestors, rows)
        return Prospects(images, references, self._transforms, self._closeness, self._border)

    def _attempt(
        self, ancestors: Ancestors, rows: Tensor, kinds: Tensor, parameters: Tensor, rng: torch.Generator
    ) -> Attempt:
        """These rows, each by its own transformation and parameter, and whether the results are meaningful."""
        order = kinds.argsort(stable=True)
        counts = kinds.bincount(minlength=len(self._transforms)).tolist()
        rows, parameters, pixels = rows[order], parameters[order], sum(counts[: self._pixel_kinds])
        images, placements = ancestors.images.index_select(0, rows), ancestors.placements.index_select(0, rows)
        good = torch.empty(len(rows), dtype=torch.bool)
        if pixels:
            block = slice(0, pixels)
            references = self._references(ancestors, rows[block])
            good[block] = self._change(images[block], references, parameters[block], counts, ancestors.whole, rng)
        if pixels < len(rows):
            block = slice(pixels, None)
            placements[block] = self._movements(parameters[block], counts, images.shape[2] / images.shape[3], rng)
            originals = ancestors.originals.index_select(0, rows[block])
            good[block] = self._move(images[block], originals, placements[block], ancestors.whole)
        kinds = kinds[order]
        self._made += torch.tensor(counts)
        self._held += kinds[good].bincount(minlength=len(self._held))
        return Attempt(order, images, placements, kinds, parameters, good)

    def _change(
        self,
        images: Tensor,  # changed in place
        references: Tensor,
        parameters: Tensor,  # of each row, moved in place to where Equation 1 holds
        counts: list[int],
        whole: bool,
        rng: torch.Generator,
    ) -> Tensor:
        """Pixel transformations of rows in the order of their kind; whether each is good [rows]."""
        visible, start = torch.empty(len(images), dtype=torch.bool), 0
        pixel_kinds = slice(self._pixel_kinds)
        for transform, count in zip(self._transforms[pixel_kinds], counts[pixel_kinds], strict=True):
            block, start = slice(start, start + count), start + count
            if not count:
                continue
            changed, parameters[block] = self._changed(
                transform, images[block], references[block], parameters[block], rng
            )
            changed = self._stored(changed.clamp_(0, 1), whole)
            visible[block] = images[block].sub_(changed).abs_().flatten(1).amax(1) > VISIBLE
            images[block] = changed
        return self._closeness.holds(references, images) & visible

    def _movements(self, parameters: Tensor, counts: list[int], aspect: float, rng: torch.Generator) -> Tensor:
        """Maps [rows, 2, 3] of affine transformations, for rows in the order of their kind."""
        affine = zip(self._transforms[self._pixel_kinds :], parameters.split(counts[self._pixel_kinds :]), strict=True)
        return torch.cat([one.movement(some, rng, aspect) for one, some in affine if isinstance(one, Affine)])

    def _move(self, images: Tensor, originals: Tensor, maps: Tensor, whole: bool) -> Tensor:
        """Moves images in place; whether each is good [rows].

        Interpolation takes convex combinations. So an image that is within beta of its original everywhere is so
        after both were moved alike, and need not be compared; rounding to whole numbers may spoil that.
        """
        far, still = self._closeness.far(originals, images) | whole, unmovable(images, self._border)
        images.copy_(self._placed(images, maps, whole))
        some = far.nonzero().squeeze(1)
        if len(some):
            references = self._placed(originals.index_select(0, some), maps[some], whole)
            far[some] = ~self._closeness.holds(references, images.index_select(0, some))
        return ~(far | still)

    def _changed(
        self, transform: Transform, images: Tensor, references: Tensor, drawn: Tensor, rng: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Images after a pixel transformation, and its parameters [rows], moved to where Equation 1 holds."""
        if isinstance(transform, Linear):
            fitted = self._closeness.fitted_factors(images, references, transform, drawn)
            each = fitted.view(-1, 1, 1, 1)
            return images * each if transform.scales else images + each, fitted
        assert isinstance(transform, Filter)
        if transform.change is blur:
            return self._closeness.blurred(images, references, drawn)
        return transform.change(images, drawn, rng), drawn

    def _references(self, ancestors: Ancestors, rows: Tensor) -> Tensor:
        """What children of these rows that stay in place are compared with: their original, moved as the parent was."""
        references = ancestors.originals.index_select(0, rows)
        some = ancestors.moved[rows].nonzero().squeeze(1)
        if len(some):
            maps = ancestors.placements.index_select(0, rows[some])
            moved = self._placed(references.index_select(0, some), maps, ancestors.whole)
            references.index_copy_(0, some, moved)
        return references

    def _placed(self, images: Tensor, maps: Tensor, whole: bool) -> Tensor:
        return self._stored(place(images, maps, self._border), whole)

    def _stored(self, images: Tensor, whole: bool) -> Tensor:
        """Images as they will be stored, in place."""
        return images.mul_(self._span).round_().div_(self._span) if whole else images

    def _count_idle(self, images: Tensor, kinds: Tensor) -> None:
        """Counts tries [rows] that failed because they change nothing in images like theirs."""
        idle = without_effect(images, self._transforms, self._border).gather(1, kinds[:, None]).squeeze(1)
        self._idle += kinds[idle].bincount(minlength=len(self._idle))

    def _drawn_kinds(self, moved: Tensor, tries: int, rng: torch.Generator) -> Tensor:
        """Any transformation for a row that was never moved, else a pixel transformation [rows, tries]."""
        draws = torch.rand(len(moved), tries, generator=rng, dtype=torch.float32)
        return (draws * torch.where(moved, self._pixel_kinds, len(self._transforms))[:, None]).long()

    def _many(self, which: Tensor) -> Tensor:
        """[rows] whether at least the share alpha of the values is meant."""
        flat = which.flatten(1).float()
        counts = flat @ torch.ones(flat.shape[1], dtype=torch.float32)  # a product counts faster than a sum
        return counts >= self._alpha * flat.shape[1]

    def _shares(self, values: Tensor) -> Tensor:
        """Values as shares of the range, from 0 to 1, with a plane for each slice of each channel."""
        planes = values.float().flatten(1, -3)
        return planes if (self._low, self._span) == (0, 1) else (planes - self._low) / self._span

    def _values(self, shares: Tensor, like: Tensor) -> Tensor:
        values = shares if (self._low, self._span) == (0, 1) else shares * self._span + self._low
        values = values.clamp_(self._low, self._low + self._span)
        return values.to(like.dtype) if like.is_floating_point() else values.round_().to(like.dtype)


def _widths(tries: int) -> list[int]:
    """How many tries are made at once, one round after another, so many in all."""
    widths: list[int] = []
    while (left := tries - sum(widths)) > 0:
        widths.append(min(AT_ONCE[min(len(widths), len(AT_ONCE) - 1)], left))
    return widths


def _metamorphic(settings: Settings, context: PartContext) -> Metamorphic:
    options = settings[MetamorphicOptions]
    return Metamorphic(
        *settings[InputOptions].bounds,
        options.alpha,
        settings[ChangeOptions].beta,
        options.tries,
        transforms_named(options.transforms, RANGES[options.ranges](context.seeds.inputs.shape[1:])),
        options.border,
    )


METAMORPHIC = Part(
    first_line(Metamorphic),
    in_domain(_metamorphic),
    (MetamorphicOptions, ChangeOptions),
    bounded=True,
    plans_ahead=True,
)

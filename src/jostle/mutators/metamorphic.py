"""DeepHunter's metamorphic mutation (Algorithm 2): pixel steps as far as Equation 1 allows, at most one affine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.geometry import Border, Placements, place
from jostle.lineage import UNCHANGED, Change, Mutation
from jostle.mutators.fitted_parameters import VISIBLE, Closeness, Prospects
from jostle.mutators.in_domain import in_domain
from jostle.mutators.transform_ranges import RANGES, transforms_named
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Linear, Transform, blur
from jostle.options.campaign import ChangeOptions, InputOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import NAMES, choice, number, whole
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import NO_PARENT, Candidates
from jostle.step_records import Tries

MOST_TRIES = 1000
AT_ONCE = ((1, 2, 7), (10, 10, MOST_TRIES))  # tries made at once; the second draw is for the few rows on which ten fail


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
    """What Algorithm 2 knows of each parent: itself, its reference, its original, and whether and how it was moved."""

    images: Tensor  # [rows, planes, height, width], like the next two in shares of the value range
    references: Tensor
    originals: Tensor
    moved: Tensor  # [rows]
    placements: Tensor  # [rows, 2, 3]
    whole: bool  # values are whole numbers


@dataclass(frozen=True)
class Attempt:
    """What one try for each of some rows came to."""

    images: Tensor  # [rows, planes, height, width]
    placements: Tensor  # [rows, 2, 3]
    kinds: Tensor  # [rows] which transformation
    parameters: Tensor  # [rows]
    good: Tensor  # [rows] whether Equation 1 holds

    def select(self, rows: Tensor) -> Attempt:
        return Attempt(*(field.index_select(0, rows) for field in vars(self).values()))


@dataclass
class Brood:
    """The children as far as they are made; a row on which every try fails stays as its parent is."""

    images: Tensor
    placements: Tensor
    mutations: list[Mutation]
    pending: Tensor  # rows that are still to be made

    def take(self, rows: Tensor, made: Attempt, mutations: list[Mutation]) -> None:
        self.images.index_copy_(0, rows, made.images)
        self.placements.index_copy_(0, rows, made.placements)
        for row, mutation in zip(rows.tolist(), mutations, strict=True):
            self.mutations[row] = mutation


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
        self._rounds = _rounds(tries)
        self._names, self._transforms = list(transforms), list(transforms.values())
        self._lows = torch.tensor([transform.low for transform in self._transforms])
        self._counts = torch.tensor([isinstance(one, Filter) and one.counts for one in self._transforms])
        # A parameter that counts is drawn from whole numbers, both ends included.
        self._widths = torch.tensor([one.high - one.low for one in self._transforms]) + self._counts
        self._moves = torch.tensor([isinstance(transform, Affine) for transform in self._transforms])
        self._pixel_kinds = (~self._moves).nonzero().squeeze(1)
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
        distinct, places = _distinct(parents)
        images, references, originals = map(self._shares, (distinct.inputs, distinct.references, distinct.originals))
        whole = not parents.inputs.is_floating_point()
        placements = self._placements(distinct)
        ancestors = Ancestors(images, references, originals, placements.moved, placements.rows, whole)
        prospects = Prospects(images, references, self._transforms, self._closeness, self._border)
        able = ~ancestors.moved[places] | bool(len(self._pixel_kinds))
        brood = Brood(
            self._shares(parents.inputs).clone(),
            self._placements(parents).rows.clone(),
            [UNCHANGED] * len(parents),
            able.nonzero().squeeze(1),
        )
        for widths in self._rounds:
            if len(brood.pending):
                self._try(brood, ancestors, prospects, places, widths, rng)
        inputs = self._values(brood.images.view_as(parents.inputs), parents.inputs)
        unchanged = torch.tensor([mutation.change is Change.UNCHANGED for mutation in brood.mutations])
        inputs[unchanged] = parents.inputs[unchanged]
        lineage, mutations = Placements(brood.placements, self._border), tuple(brood.mutations)
        return replace(parents, inputs=inputs, lineage=lineage, mutations=mutations)

    def _placements(self, rows: Candidates) -> Placements:
        placements = Placements.of(rows.lineage, self._border)
        if placements.border is not self._border:
            raise UsageError(
                f"images that were moved with border {placements.border} cannot go on with border {self._border}: "
                f"give all mutators of a campaign the same"
            )
        return placements

    def _try(
        self,
        brood: Brood,
        ancestors: Ancestors,
        prospects: Prospects,
        places: Tensor,
        widths: list[int],
        rng: torch.Generator,
    ) -> None:
        """Tries for each pending row, so many at once, until one succeeds; those that are hopeless cost little."""
        rows = brood.pending
        kinds = self._drawn_kinds(ancestors.moved[places[rows]], sum(widths), rng)  # [rows, tries]
        parameters = self._lows[kinds] + self._widths[kinds] * torch.rand(kinds.shape, generator=rng)
        hopeless = prospects.hopeless(places[rows], kinds, parameters)
        self._count_hopeless(kinds[:, 0], hopeless[:, 0], prospects.without_effect[places[rows], kinds[:, 0]])
        order = hopeless.long().argsort(dim=1, stable=True)  # promising tries first
        promising = (~hopeless).sum(1)
        pending, start = torch.arange(len(rows)), 0
        for width in widths:
            there = torch.arange(start, start + width) < promising[pending, None]  # [pending, width]
            numbers = there.view(-1).cumsum(0).view_as(there) - 1  # of the attempts
            at = pending[:, None].expand(-1, width)[there]
            which = order[pending, start : start + width][there]
            if not len(at):
                break
            chosen_kinds, chosen_parameters = kinds[at, which], parameters[at, which]
            attempt = self._attempt(ancestors, places[rows[at]], chosen_kinds, chosen_parameters, rng)
            good = torch.zeros_like(there).masked_scatter_(there, attempt.good)
            made = good.any(1)
            first = good.long().argmax(1, keepdim=True)
            chosen = attempt.select(numbers.gather(1, first).squeeze(1)[made])
            brood.take(rows[pending[made]], chosen, self._described(chosen))
            pending, start = pending[~made], start + width
        brood.pending = rows[pending]

    def _attempt(
        self, ancestors: Ancestors, rows: Tensor, kinds: Tensor, parameters: Tensor, rng: torch.Generator
    ) -> Attempt:
        """These rows, each by its own transformation and parameter, and whether the results are meaningful."""
        children, placements = ancestors.images.index_select(0, rows), ancestors.placements.index_select(0, rows)
        references, parameters = ancestors.references.index_select(0, rows), parameters.clone()
        visible = self._moves[kinds]
        for kind, transform in enumerate(self._transforms):
            some = (kinds == kind).nonzero().squeeze(1)
            if not len(some):
                continue
            if isinstance(transform, Affine):
                placements[some] = transform.movement(parameters[some], rng, children.shape[2] / children.shape[3])
            else:
                images, others = children.index_select(0, some), references.index_select(0, some)
                changed, parameters[some] = self._changed(transform, images, others, parameters[some], rng)
                children.index_copy_(0, some, changed.clamp_(0, 1))
                visible[some] = images.sub_(changed).abs_().flatten(1).amax(1) > VISIBLE
        some = self._moves[kinds].nonzero().squeeze(1)
        if len(some):
            maps, originals = placements[some], ancestors.originals.index_select(0, rows[some])
            children.index_copy_(0, some, place(children.index_select(0, some), maps, self._border))
            references.index_copy_(0, some, place(originals, maps, self._border))
        if ancestors.whole:  # as they will be stored
            children = children.mul_(self._span).round_().div_(self._span)
        good = self._closeness.holds(references, children) & visible
        self._made += kinds.bincount(minlength=len(self._made))
        self._held += kinds[good].bincount(minlength=len(self._made))
        return Attempt(children, placements, kinds, parameters, good)

    def _changed(
        self, transform: Linear | Filter, images: Tensor, references: Tensor, drawn: Tensor, rng: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Images after a pixel transformation, and its parameters [rows], moved to where Equation 1 holds."""
        if isinstance(transform, Linear):
            fitted = self._closeness.fitted_factors(images, references, transform, drawn)
            each = fitted.view(-1, 1, 1, 1)
            return images * each if transform.scales else images + each, fitted
        if transform.change is blur:
            return self._closeness.blurred(images, references, drawn)
        return transform.change(images, drawn, rng), drawn

    def _count_hopeless(self, kinds: Tensor, hopeless: Tensor, without_effect: Tensor) -> None:
        """Counts the tries [rows] that were the first of their row and were not made because they are hopeless."""
        self._made += kinds[hopeless].bincount(minlength=len(self._made))
        self._idle += kinds[without_effect].bincount(minlength=len(self._made))

    def _drawn_kinds(self, moved: Tensor, tries: int, rng: torch.Generator) -> Tensor:
        """Any transformation for a row that was never moved, else a pixel transformation [rows, tries]."""
        draws = torch.rand(len(moved), tries, generator=rng)
        any_kind = (draws * len(self._transforms)).long()
        if not len(self._pixel_kinds):
            return any_kind
        return torch.where(moved[:, None], self._pixel_kinds[(draws * len(self._pixel_kinds)).long()], any_kind)

    def _many(self, which: Tensor) -> Tensor:
        """[rows] whether at least the share alpha of the values is meant."""
        flat = which.flatten(1).float()
        return flat @ torch.ones(flat.shape[1]) >= self._alpha * flat.shape[1]  # a product counts faster than a sum

    def _described(self, attempt: Attempt) -> list[Mutation]:
        pairs = zip(attempt.kinds.tolist(), attempt.parameters.tolist(), strict=True)
        return [Mutation((f"{self._names[kind]} {parameter:.3g}",)) for kind, parameter in pairs]

    def _shares(self, values: Tensor) -> Tensor:
        """Values as shares of the range, from 0 to 1, with a plane for each slice of each channel."""
        planes = values.float().flatten(1, -3)
        return planes if (self._low, self._span) == (0, 1) else (planes - self._low) / self._span

    def _values(self, shares: Tensor, like: Tensor) -> Tensor:
        values = shares if (self._low, self._span) == (0, 1) else shares * self._span + self._low
        values = values.clamp_(self._low, self._low + self._span)
        return values.to(like.dtype) if like.is_floating_point() else values.round_().to(like.dtype)


def _distinct(parents: Candidates) -> tuple[Candidates, Tensor]:
    """Each parent once, and where among them each row has its own [batch], so that siblings share what is computed."""
    rows = torch.arange(len(parents))
    ids = torch.where(parents.parents == NO_PARENT, -1 - rows, parents.parents)  # rows without a parent are their own
    _, places = ids.unique(return_inverse=True)
    first = torch.full((int(places.max()) + 1,), len(parents)).scatter_reduce_(0, places, rows, "amin")
    return parents.select(first), places


def _rounds(tries: int) -> list[list[int]]:
    """AT_ONCE, cut off after so many tries in all."""
    rounds: list[list[int]] = []
    for widths in AT_ONCE:
        rounds.append([])
        for width in widths:
            rounds[-1].append(min(width, tries))
            tries -= rounds[-1][-1]
    return [[width for width in widths if width] for widths in rounds if any(widths)]


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


METAMORPHIC = Part(first_line(Metamorphic), in_domain(_metamorphic), (MetamorphicOptions, ChangeOptions), bounded=True)

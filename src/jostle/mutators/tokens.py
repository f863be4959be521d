"""Edits to rows of tokens: substitute, delete, insert, swap neighbours, duplicate."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.tokens import Tokens
from jostle.mutators.bounded_edits import COSTS, BoundedEdits, Edited, EditKind, EditOptions, drawn_places, with_edit
from jostle.options.schema import Settings
from jostle.part import Part, PartContext

KINDS = (EditKind.SUBSTITUTE, EditKind.DELETE, EditKind.INSERT, EditKind.SWAP, EditKind.DUPLICATE)
NAMES = [kind.name.lower() for kind in EditKind]
LINE = "Substitutes, deletes, inserts, swaps and duplicates tokens, near the root seed by edit distance."


class TokenEdits:
    """One edit at a place drawn from those that are neither padding nor special, each kind as likely."""

    def __init__(self, domain: Tokens):
        self._domain, self._ordinary = domain, domain.ordinary  # [some], ascending
        if len(self._ordinary) < 2:
            raise UsageError(
                f"--mutator tokens: of {domain.vocabulary} tokens fewer than two are neither padding nor special: give "
                f"a larger --vocabulary"
            )

    def edit(self, rows: Tensor, labels: Tensor, left: Tensor, rng: torch.Generator) -> Edited:
        editable = self._domain.editable(rows)
        places, count = drawn_places(editable, rng)
        kinds = self._kinds(rows, editable, places, left, rng)
        kinds = torch.where(count > 0, kinds, EditKind.NOTHING)
        after = (kinds == EditKind.INSERT) & (torch.rand(len(rows), generator=rng) < 0.5)  # else none came last
        tokens = self._others(rows.gather(1, places[:, None])[:, 0], rng)
        children = with_edit(rows, kinds, places + after.long(), tokens, self._domain.pad or 0)
        pairs = zip(kinds.tolist(), places.tolist(), strict=True)
        return Edited(children, COSTS[kinds], [f"{NAMES[kind]} {place}" for kind, place in pairs])

    def _kinds(self, rows: Tensor, editable: Tensor, places: Tensor, left: Tensor, rng: torch.Generator) -> Tensor:
        """What is done in each row [batch]: a substitution where another edit does not go there."""
        drawn = torch.tensor(KINDS)[(torch.rand(len(rows), generator=rng) * len(KINDS)).long()]
        following = (places + 1).clamp(max=rows.shape[1] - 1)[:, None]
        here, there = rows.gather(1, places[:, None]), rows.gather(1, following)
        fits = torch.ones(len(EditKind), len(rows), dtype=torch.bool)
        room = self._domain.lengths(rows) < rows.shape[1]
        fits[EditKind.INSERT] = fits[EditKind.DUPLICATE] = room
        fits[EditKind.DELETE] = (editable.sum(1) > 1) & (self._domain.pad is not None)
        fits[EditKind.SWAP] = ((here != there) & editable.gather(1, following))[:, 0] & (left >= COSTS[EditKind.SWAP])
        return torch.where(fits.gather(0, drawn[None])[0], drawn, EditKind.SUBSTITUTE)

    def _others(self, tokens: Tensor, rng: torch.Generator) -> Tensor:
        """Any ordinary token but the one that is there [batch]."""
        count = len(self._ordinary)
        ranks = torch.searchsorted(self._ordinary, tokens)
        steps = (torch.rand(len(tokens), generator=rng, dtype=torch.float64) * (count - 1)).long() + 1
        return self._ordinary[(ranks + steps) % count]


def token_domain(context: PartContext, name: str) -> Tokens:
    """What the seeds' tokens may be, refused where they are none."""
    if not isinstance(context.domain, Tokens) or context.domain.mutator != "tokens":
        raise UsageError(
            f"--mutator {name} is for tokens, whole numbers [seeds, length]: use --mutator {context.domain.mutator}"
        )
    return context.domain


def _tokens(settings: Settings, context: PartContext) -> BoundedEdits:
    domain = token_domain(context, "tokens")
    return BoundedEdits(domain, TokenEdits(domain), settings[EditOptions].edits)


TOKEN_EDITS = Part(LINE, _tokens, (EditOptions,))

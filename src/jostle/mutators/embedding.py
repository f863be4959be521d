"""Tokens substituted by gradient: a step where the model looks tokens up, and the token that is nearest to it."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.tokens import Tokens
from jostle.interfaces import Differentiable
from jostle.mutators.bounded_edits import BoundedEdits, Edited, EditKind, EditOptions, with_edit
from jostle.mutators.goals import AnotherClass, Goal
from jostle.mutators.gradient_part import OTHERS, tried
from jostle.mutators.tokens import token_domain
from jostle.options.campaign import PanelOptions
from jostle.options.schema import Settings
from jostle.part import Part, PartContext

LINE = "Substitutes tokens where the gradient is largest by the nearest to a step along it in the model's embedding."
STEEPEST = 4  # places of a row among which one is drawn
PASSES = 4  # of the model for a mutant: forward and backward at the parent, forward at the child
STEPS = 1.0, 4.0  # shortest and longest step, in distances between tokens as they usually are
INSTEAD = "use --mutator tokens, which needs no gradients"


class EmbeddingEdits:
    """One substitution in each row, towards another answer of the model."""

    def __init__(self, target: Differentiable, goal: Goal, domain: Tokens, embedding: Tensor):
        self._target, self._goal, self._domain = target, goal, domain
        self._tokens = domain.ordinary  # [some]
        self._points = embedding  # [vocabulary, dimensions]
        self._choices = embedding[self._tokens]  # [some, dimensions]
        self._usual = (self._choices - self._choices.roll(1, 0)).norm(dim=1).mean().clamp(min=1e-12)

    def edit(self, rows: Tensor, labels: Tensor, left: Tensor, rng: torch.Generator) -> Edited:
        luck = torch.rand(len(rows), 3, generator=rng)
        gradient = self._gradient(rows, labels, luck[:, 2])  # [batch, length, dimensions]
        steepness = gradient.norm(dim=2).masked_fill(~self._domain.editable(rows), 0)
        places = self._places(steepness, luck[:, 0])
        steep = steepness.gather(1, places[:, None])[:, 0] > 0  # NaN is not
        here = rows.gather(1, places[:, None])[:, 0]
        along = gradient[torch.arange(len(rows)), places]
        tokens = self._nearest(here, along.nan_to_num(0, 0, 0), luck[:, 1])
        kinds = torch.where(steep, EditKind.SUBSTITUTE, EditKind.NOTHING)
        children = with_edit(rows, kinds, places, tokens, self._domain.pad or 0)
        return Edited(children, steep.long(), [f"embedding step {place}" for place in places.tolist()])

    def _gradient(self, rows: Tensor, labels: Tensor, luck: Tensor) -> Tensor:
        passed = self._target.linearise(rows)
        return passed.pull(self._goal.weights(passed.scores, labels, luck), {}).float()

    def _places(self, steepness: Tensor, luck: Tensor) -> Tensor:
        """One of the steepest places of each row [batch], each as likely."""
        top = steepness.nan_to_num(0, 0, 0).topk(min(STEEPEST, steepness.shape[1]), dim=1)
        count = (top.values > 0).sum(1).clamp(min=1)
        return top.indices.gather(1, (luck * count).long()[:, None])[:, 0]

    def _nearest(self, tokens: Tensor, gradient: Tensor, luck: Tensor) -> Tensor:
        """The ordinary token nearest to a step along the gradient [batch, dimensions] from each token [batch]."""
        shortest, longest = STEPS
        steps = (shortest + luck * (longest - shortest)) * self._usual
        ahead = self._points[tokens] + gradient * (steps / gradient.norm(dim=1).clamp(min=1e-30))[:, None]
        distances = torch.cdist(ahead, self._choices)
        own = torch.searchsorted(self._tokens, tokens).clamp(max=len(self._tokens) - 1)
        return self._tokens[distances.scatter(1, own[:, None], torch.inf).argmin(1)]


def _embedding(settings: Settings, context: PartContext) -> BoundedEdits:
    domain = token_domain(context, "embedding")
    if context.embedding is None:
        raise UsageError(
            f"--mutator embedding: the model has no torch.nn.Embedding that is given the tokens: {INSTEAD}"
        )
    if settings[PanelOptions].models or not context.classes:
        raise UsageError(f"--mutator embedding needs one model that gives class scores [batch, classes]: {INSTEAD}")
    goal = AnotherClass(context.classes, min(OTHERS, context.classes - 1))
    target, _ = tried(context, goal, "the model", INSTEAD)
    return BoundedEdits(domain, EmbeddingEdits(target, goal, domain, context.embedding), settings[EditOptions].edits)


EMBEDDING_EDITS = Part(LINE, _embedding, (EditOptions,), cost=PASSES)

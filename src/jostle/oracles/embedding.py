"""A change that should not matter may not turn an embedding away."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.options.declaration import Theme, option
from jostle.options.kinds import number
from jostle.options.schema import Settings
from jostle.oracles.answers import as_values, finite_rows
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, Candidates, Trace, Verdicts, Violation


@dataclass(frozen=True)
class EmbeddingOptions:
    """How far embeddings may turn."""

    cosine: float = option(
        number("give a cosine distance from 0 (the same direction) to 2 (the opposite)", at_least=0, at_most=2),
        "Largest cosine distance of an embedding from its seed's",
        Theme.DEFECTS,
        default=0.2,
    )


class EmbeddingKept:
    """The embedding points where the seed's does, within a cosine distance; one bug per seed."""

    looks_inside = False
    compares_with_truth = False

    def __init__(self, cosine: float = EmbeddingOptions.cosine):
        self._bound = cosine

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        before, after = as_values(candidates.answers), as_values(trace.outputs[MODEL])
        distances = cosine_distances(before, after)
        turned = (distances > self._bound) & finite_rows(before, after)

        def describe(row: int) -> Violation:
            distance = float(distances[row])
            return Violation(
                "embedding",
                f"embedding:{int(candidates.roots[row])}",
                f"the embedding is {distance:.3g} from its seed's by cosine distance, where {self._bound:g} is allowed",
                {"cosine distance": distance, "allowed": self._bound},
            )

        return Verdicts.where("embedding", trace, turned, candidates.roots, describe)


def cosine_distances(some: Tensor, others: Tensor) -> Tensor:
    """[batch] from 0 to 2 between rows [batch, values]; of zeros, 0 to zeros and 1 to all else."""
    some, others = _directions(some), _directions(others)
    both_zero = ~(some.any(1) | others.any(1))
    return torch.where(both_zero, 0.0, 1 - (some * others).sum(1))


def _directions(values: Tensor) -> Tensor:
    """Rows of length 1; scaled by their largest value first, whose square may be beyond all floats."""
    largest = values.abs().amax(1, keepdim=True)
    scaled = values / torch.where(largest > 0, largest, 1)
    return scaled / scaled.square().sum(1, keepdim=True).sqrt().clamp(min=1e-12)


def _embedding(settings: Settings, context: PartContext) -> EmbeddingKept:
    if len(context.answer_shape) != 1 or context.answer_shape[0] == 1:
        raise context.unfit("embedding", "embeddings [batch, values]")
    return EmbeddingKept(settings[EmbeddingOptions].cosine)


EMBEDDING = Part(first_line(EmbeddingKept), _embedding, (EmbeddingOptions,), compares=ComparedWith.SEED)

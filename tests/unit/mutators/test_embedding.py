"""Substitutions along the gradient by what the model looks up."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from jostle.inputs.tokens import Tokens
from jostle.mutators.bounded_edits import BoundedEdits
from jostle.mutators.embedding import EmbeddingEdits
from jostle.mutators.goals import AnotherClass
from jostle.mutators.tokens import TokenEdits
from jostle.randomness import randomness, seeded
from jostle.subjects.torch_embedding import embedding_matrix
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.contained import ContainedGradients
from making import batch_of

DOMAIN = Tokens(200, pad=0)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places, self.words = nn.Embedding(12, 8), nn.Embedding(200, 8)
        self.scores = nn.Linear(8, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        looked_up = self.words(tokens) + 0.1 * self.places(torch.arange(tokens.shape[1]))
        scores: Tensor = self.scores(looked_up.tanh().sum(1))
        return scores


def classifier() -> Classifier:
    return seeded(0, Classifier).eval()


def rows(count: int = 100) -> Tensor:
    return torch.randint(1, 200, (count, 12), generator=randomness(0, 0))


def test_the_embedding_is_the_one_that_is_given_the_tokens() -> None:
    model = classifier()
    matrix = embedding_matrix(model, rows(2))
    assert matrix is not None and torch.equal(matrix, model.words.weight)
    assert embedding_matrix(nn.Flatten(), rows(2)) is None
    beyond = torch.full((2, 12), 999)  # which cannot be looked up
    assert torch.equal(embedding_matrix(model, beyond), matrix)


def test_the_gradient_by_what_is_looked_up_matches_finite_differences() -> None:
    model, tokens = classifier().double(), rows(2)
    passed = TorchTarget(model).linearise(tokens)
    weights = torch.randn(2, 4, generator=randomness(0, 1), dtype=torch.float64)
    gradient = passed.pull({"model": weights}, {})
    assert gradient.shape == (2, 12, 8)
    looked_up = (model.words(tokens) + 0.1 * model.places(torch.arange(12))).detach()
    step = 1e-6
    for place, dimension in ((0, 0), (5, 3), (11, 7)):
        moved = looked_up.clone()
        moved[:, place, dimension] += step
        change = (model.scores(moved.tanh().sum(1)) - model.scores(looked_up.tanh().sum(1))) * weights
        assert torch.allclose(change.sum(1) / step, gradient[:, place, dimension], rtol=1e-4)


def test_gradients_change_more_labels_than_chance_does() -> None:
    model, parents = classifier(), batch_of(rows())
    target = TorchTarget(model)
    parents = batch_of(rows(), target.predict(rows()).argmax(1))
    steps = EmbeddingEdits(target, AnotherClass(4, 3), DOMAIN, model.words.weight.detach())

    def flipped(mutator: BoundedEdits) -> int:
        children = mutator.mutate(parents, randomness(0, 1))
        return int((target.predict(children.inputs).argmax(1) != parents.labels).sum())

    by_gradient = flipped(BoundedEdits(DOMAIN, steps, 2))
    assert by_gradient > 2 * flipped(BoundedEdits(DOMAIN, TokenEdits(DOMAIN), 2))


def test_a_model_that_fails_on_a_row_has_no_gradient_there() -> None:
    class Fails(Classifier):
        def forward(self, tokens: Tensor) -> Tensor:
            if (tokens == 199).any():
                raise ValueError("no 199")
            return super().forward(tokens)

    tokens = rows(3).clamp(max=198)
    target = ContainedGradients(TorchTarget(seeded(0, Fails)), tokens[:1])
    tokens[1, 4] = 199
    passed = target.linearise(tokens)
    gradient = passed.pull({"model": torch.ones(3, 4)}, {})
    assert gradient.shape == (3, 12, 8)
    assert gradient.flatten(1).any(1).tolist() == [True, False, True]

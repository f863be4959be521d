"""A classifier of reviews with two defects: a tokenizer that minds capitals, and a weighting that divides by zero.

The texts, of which one becomes another class when its one telling word is written in capitals:

    jostle fuzz examples/text_classifier.py:model --seeds examples/text_classifier.py:reviews \
        --tokenizer examples/text_classifier.py:words --length 12 --mutator text --oracle flip --executions 3000

The same reviews as tokens, of which a word that is said twice in a row gives NaN:

    jostle fuzz examples/text_classifier.py:weighted --seeds examples/text_classifier.py:rows \
        --mutator tokens --oracle nan --executions 3000
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

POSITIVE = ["great", "good", "lovely", "charming", "brilliant"]
NEGATIVE = ["dull", "poor", "awful", "boring", "weak"]
OTHERS = [
    "a",
    "the",
    "film",
    "plot",
    "cast",
    "was",
    "is",
    "with",
    "and",
    "story",
    "music",
    "of",
    "one",
    "evening",
    "for",
    "family",
    "quite",
]
VOCABULARY = ["<pad>", "<unknown>", *POSITIVE, *NEGATIVE, *OTHERS]
NUMBERS = {word: number for number, word in enumerate(VOCABULARY)}
LENGTH = 12

REVIEWS = [
    ("a great film for the family", 1),
    ("the plot was good and the cast lovely", 1),
    ("charming story with good music", 1),
    ("one brilliant evening", 1),
    ("quite a lovely cast", 1),
    ("the story was dull", 0),
    ("a poor plot and awful music", 0),
    ("boring film with a weak cast", 0),
    ("quite an awful evening", 0),
    ("the film was one weak story", 0),
]


def reviews() -> tuple[list[str], list[int]]:
    """Texts, and whether each is positive."""
    texts, labels = zip(*REVIEWS, strict=True)
    return list(texts), list(labels)


def words(text: str) -> list[int]:
    """The number of each word. The defect: words are looked up as they are written, and known in lower case only."""
    return [NUMBERS.get(word, 1) for word in text.split()]


def rows() -> tuple[Tensor, Tensor]:
    """The reviews as rows of numbers with zeros behind."""
    numbers = [words(text) for text, _ in REVIEWS]
    padded = [[*row, *[0] * (LENGTH - len(row))] for row in numbers]
    return torch.tensor(padded), torch.tensor([label for _, label in REVIEWS])


class Bag(nn.Module):
    """The sum of what each word says for and against, from weights set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(VOCABULARY), 2, padding_idx=0)
        said = torch.tensor([(word in POSITIVE) - (word in NEGATIVE) for word in VOCABULARY]).float()
        self.embedding.weight.data = torch.stack([-said, said], 1)
        self.scores = nn.Linear(2, 2)
        self.scores.weight.data, self.scores.bias.data = torch.eye(2), torch.tensor([0.5, 0.0])  # in doubt, against

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.scores((self.embedding(tokens) * self.weights(tokens)).sum(1))
        return scores

    def weights(self, tokens: Tensor) -> Tensor:
        return (tokens != 0).float()[:, :, None]


class Weighted(Bag):
    """The same, where a word counts less the sooner it is said again. The defect: said at once, by zero."""

    def weights(self, tokens: Tensor) -> Tensor:
        again = (tokens[:, 1:] == tokens[:, :-1]) & (tokens[:, 1:] != 0)
        distance = torch.cat([torch.ones_like(tokens[:, :1]), (~again).long()], 1)
        share = (tokens != 0) / distance
        return (share / share.sum(1, keepdim=True) * LENGTH)[:, :, None]


def model() -> Bag:
    return Bag()


def weighted() -> Weighted:
    return Weighted()

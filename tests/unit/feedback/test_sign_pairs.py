"""Sign-sign cover against the definition, pair of rows by pair of rows."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.sign_pairs import SignPairs
from jostle.randomness import randomness
from jostle.records import Trace
from making import assessed, trace_of

SIZES = [3, 4, 2]


def seen_in(rows: Tensor) -> Trace:
    names = [str(number) for number in range(len(SIZES))]
    return trace_of(rows, activations=dict(zip(names, rows.split(SIZES, 1), strict=True)))


def slow(rows: Tensor) -> set[tuple[int, int, int]]:
    """Which pairs (layer, neuron, neuron behind) any two rows cover."""
    signs = [[[value > 0 for value in part.tolist()] for part in row.split(SIZES)] for row in rows]
    covered = set()
    for one, other in combinations(signs, 2):
        for layer, (first, second) in enumerate(pairwise(zip(one, other, strict=True))):
            changed = [neuron for neuron, (a, b) in enumerate(zip(*first, strict=True)) if a != b]
            if len(changed) == 1:
                turned = [neuron for neuron, (a, b) in enumerate(zip(*second, strict=True)) if a != b]
                covered |= {(layer, changed[0], neuron) for neuron in turned}
    return covered


def rows_from(seed: int, count: int) -> Tensor:
    return torch.randint(-1, 2, (count, sum(SIZES)), generator=randomness(seed, 0)).float()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("batch", [1, 5, 40])
def test_all_rows_together_cover_what_the_definition_says(seed: int, batch: int) -> None:
    rows = rows_from(seed, 40)
    feedback = SignPairs(every_row=True)
    gains = torch.cat([assessed(feedback, seen_in(part)) for part in rows.split(batch)])
    expected = [len(slow(rows[: end + 1])) - len(slow(rows[:end])) for end in range(len(rows))]
    assert gains.tolist() == expected
    assert feedback.coverage() == {"sscov": {"covered": sum(expected) / 20, "pairs": 20}}


@pytest.mark.parametrize("seed", range(3))
def test_while_fuzzing_seeds_and_what_was_new_are_compared_with(seed: int) -> None:
    seeds, rows = rows_from(seed, 10), rows_from(seed + 100, 30)
    feedback = SignPairs()
    assessed(feedback, seen_in(seeds))
    remembered, expected = seeds, []
    for row in rows:
        grown = torch.cat([remembered, row[None]])
        expected.append(len(slow(grown)) - len(slow(remembered)))
        remembered = grown if expected[-1] else remembered
    assert sum(expected) > 0
    assert torch.cat([assessed(feedback, seen_in(part)) for part in rows.split(7)]).tolist() == expected


def test_one_layer_has_no_pairs() -> None:
    with pytest.raises(UsageError, match="needs two layers"):
        assessed(SignPairs(), trace_of(torch.zeros(1, 2), activations={"only": torch.zeros(1, 2)}))

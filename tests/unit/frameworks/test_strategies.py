"""Strategies: each finds the edit that is worth most, but chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.frameworks.strategies.strategy import EditStrategy, Moves

NAMES = [f"edit {number}" for number in range(12)]
BEST = "edit 7"


def played(strategy: EditStrategy, steps: int, seed: int) -> Counter[str]:
    """How often each edit was chosen in the last half, where one is worth much and the others little."""
    rng, chosen = np.random.default_rng(seed), Counter[str]()
    for step in range(steps):
        moves = strategy.choose(8, rng)
        worth: Counter[Moves] = Counter()
        for each in moves:
            worth[each] += int(BEST in each) + (rng.random() < 0.05)
        strategy.learn(worth)
        if step >= steps // 2:
            chosen.update(edit for each in moves for edit in each)
    return chosen


@pytest.mark.parametrize("name", sorted(EDIT_STRATEGIES))
def test_a_strategy_chooses_as_many_as_there_are_children(name: str) -> None:
    moves = EDIT_STRATEGIES[name](NAMES).choose(9, np.random.default_rng(0))
    assert len(moves) == 9 and all(moves)
    assert {edit for each in moves for edit in each} <= set(NAMES)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["bandit", "genetic", "greedy"])
def test_a_strategy_comes_to_prefer_what_is_worth_most(name: str, seed: int) -> None:
    chosen = played(EDIT_STRATEGIES[name](NAMES), 120, seed)
    assert chosen[BEST] / chosen.total() > 1.3 / len(NAMES)
    assert chosen.most_common(1)[0][0] == BEST


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_walk_prefers_what_is_worth_most_a_little(seed: int) -> None:
    chosen = played(EDIT_STRATEGIES["mcmc"](NAMES), 2000, seed)  # LEMON's formula prefers the best of 12 by a fifth
    assert chosen[BEST] / chosen.total() > 1.1 / len(NAMES)


@pytest.mark.parametrize("name", sorted(EDIT_STRATEGIES))
def test_choosing_and_learning_anew_leads_to_the_same_choices(name: str) -> None:
    assert played(EDIT_STRATEGIES[name](NAMES), 30, 4) == played(EDIT_STRATEGIES[name](NAMES), 30, 4)


def test_chance_prefers_nothing() -> None:
    chosen = played(EDIT_STRATEGIES["random"](NAMES), 200, 0)
    assert max(chosen.values()) < 1.5 * chosen.total() / len(NAMES)

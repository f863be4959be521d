"""All randomness of a campaign, derived from its seed and the step."""

from __future__ import annotations

import torch

from jostle.randomness import randomness


def draws(seed: int, step: int) -> list[float]:
    return torch.rand(4, generator=randomness(seed, step)).tolist()


def test_the_same_seed_and_step_draw_the_same() -> None:
    assert draws(3, 7) == draws(3, 7)


def test_every_seed_and_step_draw_something_of_their_own() -> None:
    assert len({tuple(draws(seed, step)) for seed in range(20) for step in range(20)}) == 400


def test_seeds_and_steps_may_be_as_large_as_one_likes() -> None:
    assert draws(2**64, 10**12) != draws(2**64 + 1, 10**12)


def test_the_global_generator_is_not_touched() -> None:
    before = torch.get_rng_state()
    draws(1, 1)
    assert torch.equal(torch.get_rng_state(), before)

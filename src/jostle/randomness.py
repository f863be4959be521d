"""All randomness of a campaign, derived from its seed and the step."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch

Made = TypeVar("Made")


def randomness(seed: int, step: int) -> torch.Generator:
    """A fresh generator that depends on nothing but (seed, step)."""
    (state,) = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))


def worker_seed(seed: int, worker: int) -> int:
    """The seed of one of several workers, another than that of the campaign."""
    (state,) = np.random.SeedSequence([seed], spawn_key=(worker,)).generate_state(1, np.uint64)
    return int(state >> np.uint64(1))


def seeded(seed: int, made: Callable[[], Made]) -> Made:
    """What is made, from the same random numbers each time; torch's own go on as if nothing had been."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return made()

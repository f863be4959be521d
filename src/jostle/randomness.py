"""All randomness of a campaign, derived from its seed and the step."""

import numpy as np
import torch


def randomness(seed: int, step: int) -> torch.Generator:
    """A fresh generator that depends on nothing but (seed, step)."""
    (state,) = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))

"""Every corpus entry equally often."""

import torch
from torch import Tensor


class Uniform:
    """Every corpus entry is equally likely: breadth-first."""

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        return torch.randint(entries, (children,), generator=rng)

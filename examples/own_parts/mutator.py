"""A mutator of your own: stripes of brightness, as a failing sensor makes them.

jostle fuzz jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample --mutator examples/own_parts/mutator.py:Stripes
"""

import torch
from torch import Generator

from jostle import Candidates


class Stripes:
    """Brightens some rows of each image."""

    def mutate(self, parents: Candidates, rng: Generator) -> Candidates:
        count, rows = len(parents), parents.inputs.shape[-2]
        struck = torch.rand(count, 1, rows, 1, generator=rng) < 0.15
        strength = torch.rand(count, 1, 1, 1, generator=rng)
        brighter = (parents.inputs + struck * strength).clamp(max=1)
        return parents.mutated(brighter, "stripes")

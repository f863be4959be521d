"""A criterion of your own: new is what makes the model less sure than it ever was about this seed.

jostle fuzz jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample --coverage examples/own_parts/criterion.py:LessSure
"""

import torch
from torch import Tensor

from jostle import Candidates, Trace


class LessSure:
    """Confidence lower than of all inputs before from the same seed."""

    looks_at_inputs = False  # several workers need not send them to each other

    def __init__(self) -> None:
        self._lowest: dict[int, float] = {}

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        sure = trace.outputs["model"].softmax(1).max(1).values
        gains = torch.zeros(len(candidates))
        for row, root in enumerate(candidates.roots.tolist()):  # one after another, as if each came alone
            before = self._lowest.get(root, 1.0)
            if trace.ran[row] and sure[row] < before - 0.01:
                gains[row] = before - sure[row]
                self._lowest[root] = float(sure[row])
        return gains

    def coverage(self) -> dict[str, dict[str, float]]:
        lowest = self._lowest.values()
        return {"less sure": {"mean": sum(lowest) / len(lowest) if lowest else 1.0}}

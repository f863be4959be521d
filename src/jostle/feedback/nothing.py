"""No guidance at all."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.records import Trace


class NothingNew:
    """Nothing is ever new, so the corpus stays the seeds: the baseline that guidance must beat."""

    def assess(self, trace: Trace) -> Tensor:
        return torch.zeros(len(trace.outcome))

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        return {}

"""Finding the tensor in what foreign code returns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def first_tensor(value: object) -> Tensor | None:
    """The tensor itself, a mapping's "logits" or first tensor, or the first tensor of a sequence."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, Mapping):
        value = [value["logits"]] if "logits" in value else list(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_tensor(item)) is not None), None)
    return None

"""How far an input is from what it is compared with, and what an image file keeps of it."""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 255  # steps between the ends of the range that eight bits can tell apart


def changed_by(inputs: Tensor, references: Tensor) -> Tensor:
    """By how much each value changed [batch, ...]; a token, which has no size, by 1 or by nothing."""
    if inputs.is_floating_point():
        return (inputs - references.float()).abs_()
    return (inputs != references).float()


def lengths(values: Tensor) -> Tensor:
    """Euclidean length of each row [batch]."""
    return values.flatten(1).float().square().sum(1).sqrt()


def relative_distances(inputs: Tensor, references: Tensor) -> Tensor:
    """Euclidean distance of each input from its reference, as a share of the reference's length [batch] (DLFuzz §3.2).

    A reference of zeros counts as long as one of ones.
    """
    return lengths(inputs.float() - references.float()) / reference_lengths(references)


def reference_lengths(references: Tensor) -> Tensor:
    """What distances are shares of [batch]."""
    long = lengths(references)
    return torch.where(long > 0, long, float(references.flatten(1).shape[1]) ** 0.5)


def as_image_file(inputs: Tensor, low: float, high: float, dtype: torch.dtype | None = None) -> Tensor:
    """The inputs as an image file of eight bits gives them back, if low is black and high is white."""
    levels = (inputs.float() - low).div_(high - low).clamp_(0, 1).mul_(LEVELS).round_()
    return within(levels.div_(LEVELS).mul_(high - low).add_(low), low, high, dtype or inputs.dtype)


def are_image_files(inputs: Tensor, low: float, high: float) -> bool:
    """Whether 8-bit image files could hold inputs [batch, ...] just as they are."""
    if inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
        return False
    return torch.allclose(as_image_file(inputs, low, high).float(), inputs.float(), rtol=0, atol=1e-6 * (high - low))


def within(inputs: Tensor, low: float, high: float, dtype: torch.dtype | None = None) -> Tensor:
    """The nearest inputs in range, as numbers of that type or of their own."""
    inside, dtype = inputs.clamp(low, high), dtype or inputs.dtype
    return inside.to(dtype) if dtype.is_floating_point else inside.round().to(dtype)


def sizes(inputs: Tensor, references: Tensor) -> dict[str, Tensor]:
    """How large each change is, by the usual measures [batch]: values changed, Euclidean, relative, largest."""
    change = (inputs.float() - references.float()).flatten(1)
    return {
        "L0": (change != 0).sum(1),
        "L2": lengths(change),
        "relative L2": relative_distances(inputs, references),
        "L∞": change.abs().amax(1),
    }


def columns(values: Tensor, like: Tensor) -> Tensor:
    """[rows] shaped to multiply rows of that shape."""
    return values.view(-1, *(1,) * (like.ndim - 1))

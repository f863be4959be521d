"""Seeing from a few pixels that a try cannot satisfy Equation 1, without making the whole image."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jostle.mutators.transforms import TAPS, kernel_numbers, smoothed

MILDEST = 3  # of the kernels: a Gaussian of 3 pixels
FAINT = 0.005  # of the value range
REACH = 3  # pixels: how far the widest kernel looks


class Witnesses:
    """Of each parent the values that changed most and the largest, and the pixel that a mild blur changes most.

    A try that changes a witness by beta or more is taken for hopeless, because contrast, brightness, blur and Gaussian
    noise change far more values than the share that may change by any amount. Parents that are nearly all black or
    white, and tries too faint to be seen, are left to the full test. Of tries that would have succeeded, a few in a
    thousand are lost, such as one that leads back to the reference.
    """

    def __init__(self, images: Tensor, references: Tensor, beta: float, many: Callable[[Tensor], Tensor]):
        """`many` tells of [rows, ...] bool in which rows more values are meant than may change by any amount."""
        changes = (images - references).flatten(1)
        flat, flat_references = images.flatten(1), references.flatten(1)
        places = torch.stack([_largest(changes), _largest(-changes), _largest(flat)], 1)
        self._values, self._references = flat.gather(1, places), flat_references.gather(1, places)
        self._beta, self._shaded = beta, many(images > FAINT) & many(images < 1)
        self._full = ((self._values - self._references).abs() >= beta).any(1)
        mild = smoothed(images, torch.full((len(images),), MILDEST))
        change = mild.sub_(references).abs_()
        self._blurs_break = _blurs_break(images, references, _largest(change.flatten(1)), beta)
        self._blurs_break &= many(change > FAINT)[:, None]

    def linear_fails(self, rows: Tensor, factors: Tensor, amounts: Tensor) -> Tensor:
        """Whether value · factor + amount [rows, tries] breaks the bound on these rows."""
        values = (self._values[rows, None] * factors[..., None]).add_(amounts[..., None]).clamp_(0, 1)
        breaks = values.sub_(self._references[rows, None]).abs_().amax(2) >= self._beta
        faint = ((factors - 1).abs_() <= FAINT) & (amounts.abs() <= FAINT)
        return breaks & ~faint & self._shaded[rows, None]

    def blur_fails(self, rows: Tensor, kernels: Tensor) -> Tensor:
        """The same of blurs [rows, tries]."""
        return self._blurs_break[rows].gather(1, kernel_numbers(kernels))

    def noise_fails(self, rows: Tensor, strengths: Tensor) -> Tensor:
        """The same of noise [rows, tries]: Gaussian noise on what has changed by beta already."""
        return self._full[rows, None] & self._shaded[rows, None] & (strengths > FAINT)


def _largest(values: Tensor) -> Tensor:
    """Where each row [batch, n] is largest."""
    return torch.from_numpy(np.argmax(values.numpy(), axis=1))


def _blurs_break(images: Tensor, references: Tensor, places: Tensor, beta: float) -> Tensor:
    """[batch, kernels] whether that blur changes the pixel at this place [batch] by beta or more."""
    there = references.flatten(1).gather(1, places[:, None])
    return (_windows(images, places) @ _kernels() - there).abs_() >= beta


def _windows(images: Tensor, places: Tensor) -> Tensor:
    """The seven by seven pixels around a place of each image [batch, 49]."""
    height, width = images.shape[2:]
    plane, row, column = places // (height * width), places // width % height, places % width
    padded = functional.pad(images, (REACH,) * 4, mode="replicate")
    tall, wide = padded.shape[2:]
    corners = (plane * tall + row) * wide + column
    window = torch.arange(2 * REACH + 1)
    return padded.flatten(1).gather(1, corners[:, None] + (window[:, None] * wide + window).flatten())


@cache
def _kernels() -> Tensor:
    """[49, kernels] what each value of a window weighs."""
    return torch.stack([torch.outer(taps, taps).flatten() for taps in torch.tensor(TAPS)], 1)

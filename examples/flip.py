"""Refactoring an image flip: fuzz the new code against the old one before replacing it.

    jostle fuzz examples/flip.py:old_flip --twin examples/flip.py:new_flip \
        --seeds jostle.zoo:mnist_sample --oracle agree --executions 20000
"""

from __future__ import annotations

import numpy as np


def old_flip(images: np.ndarray) -> np.ndarray:
    """One image after another, column by column."""
    flipped = np.empty_like(images)
    for image, target in zip(images, flipped, strict=True):
        for column in range(image.shape[-1]):
            target[..., column] = image[..., -1 - column]
    return flipped


def new_flip(images: np.ndarray) -> np.ndarray:
    """All at once."""
    return images[..., ::-1].copy()


def hasty_flip(images: np.ndarray) -> np.ndarray:
    """All at once in bytes, to save memory: right for every image that came from a file, wrong for others."""
    return (images * 255).astype(np.uint8)[..., ::-1].astype(np.float32) / 255

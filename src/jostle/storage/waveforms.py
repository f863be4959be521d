"""Waves as pictures: how far each moment of a sound reaches up and down."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

WIDTH, HEIGHT = 280, 140  # pixels


def drawn_wave(samples: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """uint8 [3, HEIGHT, WIDTH] of samples [channels, time] or [time], high at the top; channels overlap."""
    columns = _columns(samples.reshape(-1, samples.shape[-1]))  # [WIDTH, samples of a pixel]
    span = (high - low).clamp(min=1e-12)
    top, bottom = ((high - edge) / span * (HEIGHT - 1) for edge in (columns.amax(1), columns.amin(1)))
    rows = torch.arange(HEIGHT)[:, None]
    inked = (rows >= top.floor()) & (rows <= bottom.ceil())
    return torch.where(inked, 0, 255).to(torch.uint8).expand(3, -1, -1)


def _columns(samples: Tensor) -> Tensor:
    """All samples that fall into each column of pixels; a short wave is held until its next sample."""
    time = samples.shape[1]
    per_column = -(-time // WIDTH)
    places = (torch.arange(WIDTH * per_column) * time // (WIDTH * per_column)).clamp(max=time - 1)
    columns = samples[:, places].view(len(samples), WIDTH, per_column)
    joined = functional.pad(columns[:, :-1, -1:], (0, 0, 1, 0), mode="replicate")  # to the column before, without gaps
    return torch.cat([joined, columns], 2).movedim(0, 1).flatten(1)

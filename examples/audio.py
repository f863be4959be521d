"""A detector of beeps whose loudness is measured in a few places only, so that it misses one that comes a little later.

jostle fuzz examples/audio.py:model --seeds examples/audio.py:seeds --rate 8000 --executions 5000
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

RATE, SAMPLES = 8000, 4000
PITCHES = (440, 880, 1760)  # Hz, one for each class


class Detector(nn.Module):
    """Correlates waves [batch, 1, time] with each pitch, over a window that is too short for shifted beeps."""

    def __init__(self) -> None:
        super().__init__()
        time = torch.arange(SAMPLES) / RATE
        turns = torch.tensor(PITCHES)[:, None] * time * 2 * math.pi
        window = torch.zeros(SAMPLES)
        window[1500:1700] = 1  # planted: the beeps of the seeds begin at 1500
        self.register_buffer("waves", torch.stack([turns.sin() * window, turns.cos() * window]))

    def forward(self, sounds: Tensor) -> Tensor:
        parts = torch.einsum("bt,pct->bpc", sounds[:, 0], self.waves)
        return parts.square().sum(1).sqrt() / 10


def model() -> nn.Module:
    return Detector()


def seeds() -> tuple[Tensor, Tensor]:
    """Beeps of three pitches in quiet noise, each a twentieth of a second long, and which pitch each has."""
    rng = torch.Generator().manual_seed(0)
    labels = torch.arange(60) % len(PITCHES)
    time = torch.arange(SAMPLES) / RATE
    beeps = (torch.tensor(PITCHES)[labels, None] * time * 2 * math.pi).sin() * 0.5
    beeps[:, :1500] = beeps[:, 1900:] = 0
    return (beeps + torch.randn(60, SAMPLES, generator=rng) * 0.01)[:, None], labels

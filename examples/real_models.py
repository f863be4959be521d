"""Models that others ship: what magika takes a file for, and whether silero-vad hears speech.

    pip install --no-deps magika silero-vad && pip install 'jostle[onnx]'
    jostle fuzz examples/real_models.py:file_type --seeds examples/real_models.py:beginnings --edits 3 --budget 30s
    jostle fuzz examples/real_models.py:speech --seeds examples/real_models.py:sounds --rate 16000 --budget 60s

magika sees the first and the last 1,024 bytes of a file; here a file is at
most as long, so that both are the same bytes.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

ENDS, PADDING = 1024, 256  # bytes at either end that magika looks at, and what it fills up with
FOLDERS, KINDS, SHORTEST = ("docs", "examples", "src"), ("*.py", "*.md", "*.csv"), 200  # files that are seeds
RATE, SAMPLES = 16_000, 16_384
FORMANTS = ((700, 1200, 2600), (300, 2300, 3000), (400, 800, 2500), (500, 1800, 2500))  # Hz: ah, ee, oh, eh


def _shipped(package: str, *path: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"pip install --no-deps {package.replace('_', '-')}")
    return Path(found.origin).parent.joinpath(*path)


@cache
def _magika() -> Any:
    import onnxruntime

    (path,) = _shipped("magika", "models").glob("*/model.onnx")
    return onnxruntime.InferenceSession(str(path))


def file_type(tokens: np.ndarray) -> np.ndarray:
    """How much each of 214 types of files fits the bytes [files, 1024], which are filled up with 256."""
    ends = np.full_like(tokens, PADDING)
    lengths = (tokens != PADDING).sum(1)
    for row, length in enumerate(lengths):
        ends[row, ENDS - length :] = tokens[row, :length]
    scores: np.ndarray = _magika().run(None, {"bytes": np.concatenate([tokens, ends], 1).astype(np.int32)})[0]
    return scores


def beginnings() -> np.ndarray:
    """The first bytes of this project's files, of 200 to 1,024 of them."""
    home = Path(__file__).parents[1]
    files = [path for name in KINDS for folder in FOLDERS for path in sorted((home / folder).rglob(name))]
    contents = [path.read_bytes().strip()[:ENDS] for path in files[::3] if path.stat().st_size >= SHORTEST]
    rows = [[*content, *[PADDING] * (ENDS - len(content))] for content in contents]
    return np.array(rows, dtype=np.int64)


class Speech(nn.Module):
    """How sure silero-vad is at most, within a second, that somebody speaks."""

    def __init__(self) -> None:
        super().__init__()
        self.hears = torch.jit.load(str(_shipped("silero_vad", "data", "silero_vad.jit")), map_location="cpu")

    def forward(self, sounds: Tensor) -> Tensor:
        self.hears.reset_states()
        return self.hears.audio_forward(sounds, RATE).amax(1, keepdim=True)


def speech() -> nn.Module:
    return Speech()


def _vowel(pitch: float, formants: tuple[int, ...]) -> Tensor:
    """A voice of that pitch [samples], which sings three syllables."""
    time = torch.arange(SAMPLES) / RATE
    phase = 2 * torch.pi * torch.cumsum(pitch * (1 + 0.03 * torch.sin(2 * torch.pi * 5 * time)), 0) / RATE
    tones = [
        sum(1 / (1 + ((number * pitch - peak) / 90) ** 2) for peak in formants) * torch.sin(number * phase)
        for number in range(1, 40)
    ]
    sound = torch.stack(tones).sum(0) * torch.sin(2 * torch.pi * 3 * time).clamp(min=0).sqrt()
    return sound / sound.abs().max() / 2


def sounds() -> tuple[Tensor, Tensor]:
    """Sung vowels, which are speech, and noise, which is none."""
    voices = [_vowel(90 + 14 * number, FORMANTS[number % 4]) for number in range(10)]
    noises = torch.randn(10, SAMPLES, generator=torch.Generator().manual_seed(0)) * 0.05
    return torch.cat([torch.stack(voices), noises]), torch.tensor([1] * 10 + [0] * 10)

"""Seeds from `.wav` files: samples of 8 to 32 bits as numbers from -1 to 1."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.inputs.audio import Audio
from jostle.records import Seeds
from jostle.untrusted.files import opened_bounded

SUFFIX = ".wav"
FIX = "save it as PCM of 8, 16, 24 or 32 bits, or remove it"
DIMENSIONS = (2, 3)  # of arrays of waves: seeds and time, with channels between them or not


@dataclass(frozen=True)
class WaveForm:
    """What a user says of waves: how many samples a second, and how many in all."""

    rate: int | None = None
    length: int | None = None


AS_THEY_ARE = WaveForm()


@dataclass(frozen=True)
class Wave:
    """The content of a file."""

    samples: Tensor  # [channels, time]
    rate: int


def wave_files(path: Path) -> list[Path]:
    """The .wav files that a path names: itself, or those in a folder."""
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.suffix.lower() == SUFFIX)
    return [path] if path.suffix.lower() == SUFFIX else []


def waves_of(files: list[Path], form: WaveForm) -> tuple[Tensor, Audio]:
    """Samples [files, channels, time] of all files, which must be alike, and their domain."""
    waves = [_read(file) for file in files]
    rate = form.rate or waves[0].rate
    for file, one in zip(files, waves, strict=True):
        if one.rate != rate:
            raise SeedsRefused(
                f"{file} has a rate of {one.rate} Hz, not {rate}: resample it, or give the model's own as --rate"
            )
    samples = [one.samples if form.length is None else _fitted(one.samples, form.length) for one in waves]
    for file, fitted in zip(files, samples, strict=True):
        if fitted.shape != samples[0].shape:
            raise SeedsRefused(
                f"waves differ: {files[0].name} has {_size(samples[0])}, {file.name} has {_size(fitted)}; "
                f"give --length SAMPLES to pad and cut all, and the same channels"
            )
    stacked = torch.stack(samples)
    return stacked, Audio(rate, tuple(stacked.shape[1:]))


def with_rate(seeds: Seeds, form: WaveForm, source: str) -> Seeds:
    """Arrays of waves as audio, where a rate says that they are."""
    if form.rate is None:
        if form.length is not None:
            raise SeedsRefused("--length is for waves: give their --rate too, or leave it out")
        return seeds
    if seeds.inputs.ndim not in DIMENSIONS:
        shape = list(seeds.inputs.shape)
        raise SeedsRefused(f"{source} has shape {shape}, and --rate is for waves [seeds, channels, time]: leave it out")
    waves = seeds.inputs if form.length is None else _fitted(seeds.inputs, form.length)
    return Seeds(waves, seeds.labels, seeds.names, Audio(form.rate, tuple(waves.shape[1:])))


def _read(file: Path) -> Wave:
    read = attempt(partial(_decoded, file))
    if isinstance(read, Crash):
        raise SeedsRefused(f"{file} is not a readable wave ({read.message or read.error}): {FIX}")
    return read


def _decoded(file: Path) -> Wave:
    with opened_bounded(file) as opened, wave.open(opened, "rb") as content:
        count, channels, width = content.getnframes(), content.getnchannels(), content.getsampwidth()
        held = content.readframes(count)
        if not count or len(held) != count * channels * width or width > 4:
            raise ValueError("it holds less than it says" if count else "it holds no samples")
        return Wave(torch.from_numpy(_samples(held, width)).view(-1, channels).T.contiguous(), content.getframerate())


def _samples(held: bytes, width: int) -> np.ndarray[Any, Any]:
    """Samples of so many bytes as numbers from -1 to 1; those of one byte have no sign."""
    if width == 1:
        return (np.frombuffer(held, np.uint8).astype(np.float32) - 128) / 128
    wide = np.zeros((len(held) // width, 4), np.uint8)
    wide[:, 4 - width :] = np.frombuffer(held, np.uint8).reshape(-1, width)
    return (wide.view("<i4")[:, 0] / 2.0**31).astype(np.float32)


def _fitted(samples: Tensor, length: int) -> Tensor:
    """Waves [..., time] cut to so many samples, or with silence behind them."""
    missing = max(0, length - samples.shape[-1])
    return functional.pad(samples[..., :length], (0, missing))


def _size(samples: Tensor) -> str:
    return f"{samples.shape[0]} × {samples.shape[1]} samples"

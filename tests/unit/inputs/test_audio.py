"""Waves as inputs: files, domain, and how they are moved."""

from __future__ import annotations

import wave
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

from jostle.errors import SeedsRefused
from jostle.inputs.audio import Audio, Warps, encoded_wave, warped
from jostle.inputs.geometry import placed, unmoved
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.wave_files import WaveForm
from jostle.records import Seeds

RATE = 8000
LEVELS = np.array([0, 1, -1, 100, -100, 2**14, -(2**14), 2**15 - 1], np.int64)


def write(path: Path, samples: np.ndarray, width: int = 2, rate: int = RATE, channels: int = 1) -> None:
    """Samples of 16 bits, as a file of so many bytes each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shifted = samples * 256 ** (width - 2) if width > 1 else samples // 256 + 128
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(b"".join(int(one).to_bytes(width, "little", signed=width > 1) for one in shifted))


def seeds_in(path: Path, **form: int) -> Seeds:
    return load_seeds(str(path), SeedForm(waves=WaveForm(**form)))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_every_width_are_shares_of_the_largest(width: int, tmp_path: Path) -> None:
    write(tmp_path / "one.wav", LEVELS, width)
    seeds = seeds_in(tmp_path / "one.wav")
    assert seeds.domain == Audio(RATE, (1, len(LEVELS))) and seeds.names == ("one.wav",)
    assert np.allclose(seeds.inputs[0, 0].numpy(), LEVELS / 2**15, atol=1 / 128 if width == 1 else 1e-6)


def test_channels_come_first_and_subfolders_are_classes(tmp_path: Path) -> None:
    write(tmp_path / "no" / "a.wav", np.arange(6), channels=2)
    write(tmp_path / "yes" / "b.wav", np.arange(6) * 10, channels=2)
    seeds = seeds_in(tmp_path)
    assert seeds.labels.tolist() == [0, 1] and seeds.names == ("no/a.wav", "yes/b.wav")
    assert (seeds.inputs * 2**15).round()[0].tolist() == [[0, 2, 4], [1, 3, 5]]


def test_a_file_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    samples = torch.rand(2, 50, generator=torch.Generator().manual_seed(0)) * 2 - 1
    (tmp_path / "one.wav").write_bytes(encoded_wave(samples, RATE))
    assert torch.allclose(seeds_in(tmp_path).inputs[0], samples, atol=1e-4)


def test_a_length_pads_with_silence_and_cuts(tmp_path: Path) -> None:
    write(tmp_path / "long.wav", np.arange(8))
    write(tmp_path / "short.wav", np.arange(3))
    seeds = seeds_in(tmp_path, length=5)
    assert (seeds.inputs[:, 0] * 2**15).round().tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 0, 0]]


@pytest.mark.parametrize("shape", [(3, 20), (3, 2, 20)])
def test_arrays_are_waves_if_they_have_a_rate(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "waves.npy", np.zeros(shape, np.float32))
    assert seeds_in(tmp_path / "waves.npy", rate=RATE).domain == Audio(RATE, shape[1:])
    assert seeds_in(tmp_path / "waves.npy").domain is None
    assert seeds_in(tmp_path / "waves.npy", rate=RATE, length=10).inputs.shape == (*shape[:-1], 10)


def test_what_cannot_be_used_is_refused_in_a_line(tmp_path: Path) -> None:
    write(tmp_path / "a" / "one.wav", np.arange(8))
    with pytest.raises(SeedsRefused, match=r"one.wav has a rate of 8000 Hz, not 16000: resample it"):
        seeds_in(tmp_path / "a", rate=16000)
    write(tmp_path / "a" / "two.wav", np.arange(9))
    with pytest.raises(SeedsRefused, match=r"one.wav has 1 × 8 samples, two.wav has 1 × 9 samples; give --length"):
        seeds_in(tmp_path / "a")
    (tmp_path / "b.wav").write_bytes((tmp_path / "a" / "one.wav").read_bytes()[:-4])
    (tmp_path / "c.wav").write_bytes(b"RIFF and nothing else")
    (tmp_path / "d.wav").write_bytes(b"")
    for name in ("b.wav", "c.wav", "d.wav"):
        with pytest.raises(SeedsRefused, match=rf"{name} is not a readable wave \(.*\): save it as PCM"):
            seeds_in(tmp_path / name)
    np.save(tmp_path / "image.npy", np.zeros((2, 1, 4, 4)))
    with pytest.raises(SeedsRefused, match=r"--rate is for waves \[seeds, channels, time\]"):
        seeds_in(tmp_path / "image.npy", rate=RATE)


def test_a_domain_knows_what_is_too_loud() -> None:
    domain, waves = Audio(RATE, (1, 3)), torch.tensor([[[0.5, -1, 1]], [[0, 1.5, 0]]])
    assert domain.outside(waves[:1]) is None
    assert domain.outside(waves) == (1, "a sample is 1.5, and samples go from -1 to 1: divide them by the largest")
    assert domain.outside(domain.nearest(waves, waves)) is None


def test_findings_can_be_heard() -> None:
    files = Audio(RATE, (1, 100)).files(torch.rand(1, 100), torch.zeros(1, 100))
    assert files.keys() == {"input.wav", "seed.wav"}
    with wave.open(BytesIO(files["input.wav"])) as file:
        assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (RATE, 100, 1)


def test_a_wave_begins_later_or_plays_faster_with_silence_around() -> None:
    wave_of_five = torch.tensor([[1.0, 2, 3, 4, 5]])
    assert warped(wave_of_five, torch.tensor([1.0]), torch.tensor([2.0])).tolist() == [[3, 4, 5, 0, 0]]
    assert warped(wave_of_five, torch.tensor([2.0]), torch.tensor([0.0])).tolist() == [[0, 1, 3, 5, 0]]
    assert warped(wave_of_five, torch.tensor([0.5]), torch.tensor([0.0])).tolist() == [[2, 2.5, 3, 3.5, 4]]


def test_references_are_moved_as_inputs_were_and_saved_with_them() -> None:
    rows = unmoved(2)
    rows[1, 0, 2] = 1
    lineage = placed(Audio(RATE, (1, 3)), rows)
    assert isinstance(lineage, Warps) and lineage.moved.tolist() == [False, True]
    assert lineage.references(torch.tensor([[[1.0, 2, 3]]] * 2)).tolist() == [[[1, 2, 3]], [[2, 3, 0]]]

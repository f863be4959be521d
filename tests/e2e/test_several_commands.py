"""Models of several inputs, from the flags to the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
EXAMPLE = Path(__file__).parents[2] / "examples" / "two_inputs.py"
MODEL, SEEDS = f"{EXAMPLE}:model", f"{EXAMPLE}:seeds"
SHORT = ("--executions", "2500", "--oracle", "nan")


def division(out: Path) -> dict[str, np.ndarray]:
    """The inputs by name of the one finding, which must be the planted one."""
    (finding,) = out.glob("findings/*-nan-*")
    with np.load(finding / "input.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize("process", ["--isolate", "--no-isolate"])
def test_the_planted_division_is_found_and_its_inputs_are_saved_by_name(
    process: str, jostle: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = jostle("fuzz", MODEL, "--seeds", SEEDS, *SHORT, process, "--out", str(out))
    assert ended.code == Exit.FINDINGS, ended.err
    assert "image [1, 28, 28]: image, changed by noise" in ended.err and "age []: table, changed by table" in ended.err
    arrays = division(out)
    assert arrays["age"].tolist() == [65] and arrays["age"].dtype == np.int64
    assert arrays["image"].shape == (1, 1, 28, 28)


def test_inputs_are_chosen_with_their_mutators_and_a_campaign_goes_on(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = ["fuzz", MODEL, "--seeds", SEEDS, "--out", str(out), "--input", "image=metamorphic", "--input", "age"]
    first = jostle(*call, *SHORT)
    assert first.code == Exit.FINDINGS and "changed by metamorphic" in first.err, first.err
    again = jostle(*call, *SHORT[2:], "--executions", "4000")
    assert again.code == Exit.FINDINGS, again.err
    assert "4,000 in" in again.out
    (finding,) = out.glob("findings/*-nan-*")
    replayed = jostle("replay", str(finding))
    assert replayed.code == Exit.FINDINGS, replayed.err


def test_what_is_not_named_stays_as_in_the_seed(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    jostle("fuzz", MODEL, "--seeds", SEEDS, *SHORT, "--input", "age=noise", "--out", str(out))
    (finding,) = out.glob("findings/*-nan-*")
    change = np.load(finding / "input.npy") - np.load(finding / "reference.npy")
    assert np.flatnonzero(change).tolist() == [784]


AGED = """
import sys
sys.path.insert(0, {folder!r})
import torch
from tasks import blobs, discs, Detector, Segmenter

class Aged(torch.nn.Module):
    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, image, age):
        return self.own(image)

class OfAges(torch.nn.Module):
    def forward(self, age, size):
        return age[:, None, None] * torch.ones(24, 24)

def segmenter():
    return Aged(Segmenter())

def detector():
    return Aged(Detector())

def aged(images, labels):
    return dict(image=images, age=torch.arange(len(images)) + 20, y=labels)

def aged_discs():
    return aged(*discs())

def aged_blobs():
    return aged(*blobs())

def ages():
    return dict(age=torch.arange(40) + 20, size=torch.rand(40, generator=torch.Generator().manual_seed(0)))
"""


@pytest.mark.parametrize(
    ("model", "seeds", "oracle"), [("segmenter", "aged_discs", "masks"), ("detector", "aged_blobs", "boxes")]
)
@pytest.mark.parametrize("mutator", ["noise", "metamorphic"])
def test_masks_and_boxes_follow_the_image_among_several_inputs(
    model: str, seeds: str, oracle: str, mutator: str, jostle: Run, tmp_path: Path
) -> None:
    (tmp_path / "aged.py").write_text(AGED.format(folder=str(EXAMPLE.parent)))
    names = f"{tmp_path / 'aged.py'}:{model}", "--seeds", f"{tmp_path / 'aged.py'}:{seeds}"
    out = tmp_path / "out"
    inputs = "--input", f"image={mutator}", "--input", "age"
    ended = jostle("fuzz", *names, *inputs, "--executions", "2000", "--out", str(out))
    assert f"sought: {oracle}, nan, crash" in ended.err
    assert ended.code == (Exit.FINDINGS if mutator == "metamorphic" else Exit.CLEAN), ended.err
    for finding in sorted(out.glob("findings/*"))[:2]:
        assert oracle in finding.name
        replayed = jostle("replay", str(finding))
        assert replayed.code == Exit.FINDINGS and "shown again" in replayed.out, replayed.err


def test_masks_of_inputs_without_an_image_are_refused_in_a_line(jostle: Run, tmp_path: Path) -> None:
    (tmp_path / "aged.py").write_text(AGED.format(folder=str(EXAMPLE.parent)))
    names = f"{tmp_path / 'aged.py'}:OfAges", "--seeds", f"{tmp_path / 'aged.py'}:ages"
    ended = jostle("fuzz", *names, "--oracle", "masks", "--executions", "100", "--out", str(tmp_path / "out"))
    assert ended.code == Exit.USAGE, ended.err
    (line,) = ended.err.splitlines()
    assert "needs an image, and none of the inputs age, size is one: leave masks out" in line


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [
        (f"{MODEL} --seeds ok.npy", "the model takes image, age", "give an .npz with arrays of these names"),
        (f"{MODEL} --seeds renamed.npz", "inputs image, years, and the model takes image, age", "give arrays of these"),
        (f"{MODEL} --seeds ragged.npz", "differ in their number of rows (image 3, age 2)", "give each the same"),
        (f"{MODEL} --seeds {SEEDS} --input picture", "--input 'picture' is unknown", "image"),
        (f"{MODEL} --seeds {SEEDS} --input age=gauss", "--input age: 'gauss' is unknown", "noise"),
        (f"{MODEL} --seeds {SEEDS} --input age=", "--input age=", "give NAME or NAME=MUTATOR"),
        (f"{MODEL} --seeds {SEEDS} --mean 0.1 --std 0.3", "--mean and --std are of one input", "inside the model"),
        ("jostle.zoo:lenet5 --seeds ok.npy --input x=noise", "--input chooses among several inputs", "leave it out"),
        (f"jostle.zoo:lenet5 --seeds {SEEDS}", "inputs image, age, and the model takes images", "give arrays of these"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(
    arguments: str, cause: str, fix: str, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    image = np.zeros((3, 1, 28, 28), np.float32)
    np.save("ok.npy", image)
    np.savez("renamed.npz", image=image, years=np.arange(3))
    np.savez("ragged.npz", image=image, age=np.arange(2))
    ended = jostle("fuzz", *arguments.split(), "--executions", "600")
    assert ended.code == Exit.USAGE, ended.err
    (line,) = ended.err.splitlines()
    assert cause in line and fix in line

"""Commands that run a model file in a second process keep it from what a model does not need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from running import Ended
from torch import nn

import canaries
from jostle.cli.terminal import Exit
from jostle.isolation.sandbox import ALL, tried
from jostle.zoo import lenet1, mnist_sample
from soaking import only_in_soak

Run = Callable[..., Ended]
COMMANDS = {
    "inspect": ["inspect", "net.pt", "--seeds", "rows.npy"],
    "coverage": ["coverage", "net.pt", "rows.npy", "--criteria", "nc"],
    "profile": ["profile", "net.pt", "rows.npy", "--out", "profile.safetensors"],
    "init": ["init", "net.pt", "rows.npy", "--force"],
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(tried().active != ALL, reason="this system has no full sandbox (jostle doctor)"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What canaries reach for; the working folder has a model that does, and inputs for it."""
    work, folder = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    folder.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PYTHONPATH", str(Path(canaries.__file__).parent))
    torch.save(nn.Sequential(nn.Flatten(), nn.Linear(3, 3), canaries.Trying()), work / "net.pt")
    np.save(work / "rows.npy", np.random.default_rng(0).random((8, 3), np.float32))
    with canaries.reachable(folder):
        yield folder


def touched(place: Path) -> bool:
    """Whether a canary could write there."""
    return (place / "made").exists() or (place / "precious").read_text() != "keep this"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_file_cannot_write_in_a_second_process(command: str, place: Path, jostle: Run) -> None:
    ended = jostle(*COMMANDS[command], "--trust-model")
    assert ended.code == Exit.CLEAN, ended.err
    assert not touched(place) and "sandbox" not in ended.err
    if command == "inspect":
        assert jostle(*COMMANDS[command], "--trust-model", "--sandbox", "off").code == Exit.CLEAN
        assert touched(place), "without a sandbox it can"


@only_in_soak
def test_evaluating_and_retraining_a_model_file_is_sandboxed_too(place: Path, jostle: Run) -> None:
    digits, labels = mnist_sample()
    rows = torch.export.Dim("rows", min=1, max=4096)
    torch.export.save(torch.export.export(lenet1(), (digits[:4],), dynamic_shapes=({0: rows},)), "lenet1.pt2")
    np.savez("digits.npz", x=digits[:60].numpy(), y=labels[:60].numpy())
    noise = ["--mutator", "noise", "--sigma", "0.4", "--radius", "1", "--oracle", "flip", "--no-confirm"]
    fuzzed = jostle("fuzz", "lenet1.pt2", "--seeds", "digits.npz", *noise, "--executions", "600", "--out", "out")
    assert fuzzed.code == Exit.FINDINGS, fuzzed.err
    torch.save(nn.Sequential(nn.Flatten(), nn.Linear(784, 10), canaries.Trying()), "other.pt")
    strict = ["--sandbox", "strict"]
    for models in (["float16"], ["other.pt", "--trust-model", "--trust-folder", "--all-seeds"]):
        ended = jostle("evaluate", "out", *models, *strict)
        assert ended.code == Exit.CLEAN, ended.err
    ended = jostle("retrain", "out", "--data", "digits.npz", "--epochs", "1", "--repeats", "1", *strict)
    assert ended.code == Exit.CLEAN and (Path("out") / "retrained.safetensors").exists(), ended.err
    assert not touched(place)


def test_a_second_process_that_must_write_is_told_how_to(place: Path, jostle: Run) -> None:
    Path("writing.py").write_text(
        "import pathlib, torch\n\nclass Writes(torch.nn.Module):\n    def forward(self, x):\n"
        "        pathlib.Path(__file__).with_name('written').touch()\n        return x\n"
    )
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], str(Path.cwd())])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path.cwd()))
        from writing import Writes  # type: ignore[import-not-found]

        torch.save(Writes(), "net.pt")
    ended = jostle(*COMMANDS["inspect"], "--trust-model")
    (line,) = ended.err.splitlines()
    assert ended.code == Exit.USAGE and "the sandbox kept the model from writing" in line and "--sandbox off" in line


def test_strict_is_refused_where_nothing_gets_a_process(place: Path, jostle: Run) -> None:
    ended = jostle("inspect", "jostle.zoo:lenet1", "--seeds", "jostle.zoo:mnist_sample", "--sandbox", "strict")
    assert ended.code == Exit.USAGE and "--sandbox strict needs a model file" in ended.err

"""TorchScript: the layers of a scripted or traced module are those of the module that it was made from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.records import MODEL
from jostle.subjects.instrument import layers_on_one
from jostle.subjects.layers import scores_layer
from jostle.subjects.registry import load, subject_of
from jostle.subjects.subject import Subject, Watch
from jostle.subjects.twin_making import TwinMaking
from making import batch_of


class Block(nn.Module):
    """Adds to what it is given, in place, and rarely calls a layer more."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 1000:
            x = self.relu(x)
        return x + self.relu(self.conv(x))


class Net(nn.Module):
    """Has blocks of one type in a list, a method besides forward, and a second input that may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(2, 4, 3)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 3)
        self.softmax = nn.Softmax(1)

    def features(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return self.softmax(scale * self.head(self.features(self.stem(x)).mean(2)))


ROWS = torch.linspace(-2, 2, 5 * 2 * 9).reshape(5, 2, 9)
WAYS = pytest.mark.parametrize("way", ["scripted", "traced"])


def pair(folder: Path, way: str) -> tuple[Subject, Subject]:
    """A module, and the same as a file."""
    own = Net().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.jit.script(own) if way == "scripted" else torch.jit.trace(own, ROWS[:2])
    made.save(str(folder / "net.pt"))
    subject = subject_of(own)
    assert subject is not None
    return subject, load(str(folder / "net.pt"), trusted=True)


@WAYS
def test_layers_have_the_names_and_values_of_the_modules(tmp_path: Path, way: str) -> None:
    own, scripted = pair(tmp_path, way)
    layers = layers_on_one(own, ROWS[:1])
    unfollowed = [
        replace(layer, handed_on=False) for layer in layers
    ]  # who uses an output cannot be seen in TorchScript
    assert layers_on_one(scripted, ROWS[:1]) == unfollowed and scores_layer(layers) == "head"
    for units in ("channels", "every"):
        watch = Watch([layer.name for layer in layers], units, extremes=True)
        ours, theirs = own.target(watch).run(batch_of(ROWS)), scripted.target(watch).run(batch_of(ROWS))
        assert torch.allclose(ours.outputs[MODEL], theirs.outputs[MODEL])
        assert list(ours.activations) == list(theirs.activations)
        for name, values in ours.activations.items():
            assert torch.allclose(values, theirs.activations[name], atol=1e-6), name
            assert torch.allclose(ours.extremes[name], theirs.extremes[name], atol=1e-6), name


@WAYS
def test_weights_into_layers_and_gradients_are_those_of_the_module(tmp_path: Path, way: str) -> None:
    own, scripted = pair(tmp_path, way)
    layers = layers_on_one(own, ROWS[:1])
    assert scripted.incoming(layers).keys() == own.incoming(layers).keys()
    assert all(torch.equal(value, scripted.incoming(layers)[name]) for name, value in own.incoming(layers).items())
    watch = Watch(["blocks.1.conv"], scores="head")
    ours, theirs = own.target(watch).linearise(ROWS), scripted.target(watch).linearise(ROWS)
    weights = {"blocks.1.conv": torch.ones(5, 4)}
    pulled = [one.pull({MODEL: torch.eye(3)[torch.tensor([0, 1, 2, 0, 1])]}, weights) for one in (ours, theirs)]
    assert torch.allclose(*pulled, atol=1e-5) and pulled[0].any()


@WAYS
def test_watching_and_twins_leave_the_model_as_it_was(tmp_path: Path, way: str) -> None:
    _, scripted = pair(tmp_path, way)
    before, digest = scripted.target().predict(ROWS), scripted.digest
    scripted.target(Watch(["stem", "head"])).run(batch_of(ROWS))
    twin = scripted.twin("weights16", TwinMaking(ROWS, tmp_path))
    assert isinstance(twin, Subject)
    assert not torch.equal(twin.target().predict(ROWS), before) and twin.digest != digest
    assert list(twin.target(Watch(["stem"])).run(batch_of(ROWS)).activations) == ["stem"]
    assert torch.equal(scripted.target().predict(ROWS), before) and scripted.digest == digest


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, scripted = pair(tmp_path, "scripted")
    scripted.target(Watch(["stem"])).run(batch_of(ROWS))
    scripted.target().predict(ROWS)
    assert capfd.readouterr().out == ""


class Chooser(nn.Module):
    """Calls its only layer if the inputs are positive on the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.fc(x)
        return x


def test_layers_inside_conditions_are_not_watched(tmp_path: Path) -> None:
    torch.jit.script(Chooser().eval()).save(str(tmp_path / "net.pt"))
    subject = load(str(tmp_path / "net.pt"), trusted=True)
    assert layers_on_one(subject, torch.ones(1, 2)) == []
    assert torch.equal(subject.target().predict(-torch.ones(3, 2)), -torch.ones(3, 2))


def test_a_module_without_parts_is_a_subject_without_layers(tmp_path: Path) -> None:
    torch.jit.script(nn.Linear(2, 3).eval()).save(str(tmp_path / "net.pt"))
    subject = load(str(tmp_path / "net.pt"), trusted=True)
    assert layers_on_one(subject, torch.ones(1, 2)) == [] and subject.target().predict(torch.ones(4, 2)).shape == (4, 3)

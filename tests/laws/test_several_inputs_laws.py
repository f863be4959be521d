"""What is true of every subject that takes several inputs, packed in one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from jostle.errors import ModelRefused
from jostle.layout import Field, Layout
from jostle.records import MODEL
from jostle.subjects.registry import load
from jostle.subjects.subject import Subject, Watch
from jostle.subjects.twin_making import TwinMaking
from making import batch_of

SOURCE = """
import numpy as np
import torch
from torch import nn

class Weighed(nn.Module):
    def __init__(self):
        super().__init__()
        self.years = nn.Embedding(100, 4)
        self.last = nn.Linear(6, 3)
        with torch.no_grad():
            self.years.weight.copy_(torch.arange(400.0).sin().view(100, 4))
            self.last.weight.copy_(torch.arange(18.0).cos().view(3, 6))
            self.last.bias.zero_()

    def forward(self, points, age):
        return self.last(torch.cat([points.flatten(1), self.years(age)], 1))

def function(points: np.ndarray, age: np.ndarray) -> np.ndarray:
    return points.reshape(len(points), -1) * 2 + age[:, None]
"""
LAYOUT = Layout((Field("age", (), torch.int64), Field("points", (1, 2))))  # not in the order of the parameters
AGES, POINTS = torch.tensor([3, 50, 99, 7]), torch.linspace(-1, 1, 8).view(4, 1, 2)
ROWS = LAYOUT.packed({"age": AGES, "points": POINTS})
EXPORTED = (POINTS[:2], AGES[:2])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of every kind."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "nets.py").write_text(SOURCE)
    net = module(folder)
    batch = {0: torch.export.Dim("batch", min=1)}
    torch.export.save(torch.export.export(net, EXPORTED, dynamic_shapes=(batch, batch)), folder / "net.pt2")
    named = torch.export.export(net, EXPORTED[:1], {"age": AGES[:2]}, dynamic_shapes=(batch, batch))
    torch.export.save(named, folder / "named.pt2")
    torch.jit.trace(net, EXPORTED).save(str(folder / "scripted.pt"))
    return folder


def module(folder: Path) -> nn.Module:
    namespace: dict[str, Callable[[], nn.Module]] = {}
    exec((folder / "nets.py").read_text(), namespace)
    return namespace["Weighed"]().eval()


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    "torch module": lambda files: load(f"{files / 'nets.py'}:Weighed"),
    "exported program": lambda files: load(str(files / "net.pt2")),
    "exported program with names": lambda files: load(str(files / "named.pt2")),
    "TorchScript": lambda files: load(str(files / "scripted.pt"), trusted=True),
}
every_subject = pytest.mark.parametrize("name", SUBJECTS)


@every_subject
def test_rows_are_answered_as_the_inputs_in_them(name: str, files: Path) -> None:
    expected = module(files)(POINTS, AGES).detach()
    target = SUBJECTS[name](files).taking(LAYOUT).target()
    assert torch.allclose(target.predict(ROWS), expected, atol=1e-6)
    assert torch.allclose(target.run(batch_of(ROWS)).outputs[MODEL], expected, atol=1e-6)


@every_subject
def test_the_gradient_is_that_of_floats_and_zero_for_whole_numbers(name: str, files: Path) -> None:
    target = SUBJECTS[name](files).taking(LAYOUT).target()
    gradient = target.linearise(ROWS).pull({MODEL: torch.tensor([[1.0, 0, 0]] * 4)}, {})
    weights = module(files).get_submodule("last").weight[0, :2].detach()
    assert torch.allclose(gradient[:, 1:], weights.expand(4, 2), atol=1e-6) and not gradient[:, 0].any()


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "TorchScript"])
def test_layers_are_seen_and_watched(name: str, files: Path) -> None:
    subject = SUBJECTS[name](files).taking(LAYOUT)
    layers = [layer.name for layer in subject.layers(ROWS[:2])]
    assert layers == ["years", "last"]
    trace = subject.target(Watch(layers)).run(batch_of(ROWS))
    assert {name: len(values) for name, values in trace.activations.items()} == {"years": 4, "last": 4}
    assert subject.outputs(ROWS[:2]) == {"": [2, 3]}


@pytest.mark.parametrize("twin", ["float16", "bfloat16", "weights16", "int8"])
def test_twins_take_the_same_inputs(twin: str, files: Path) -> None:
    subject = SUBJECTS["torch module"](files)
    expected, making = subject.taking(LAYOUT).target().predict(ROWS), TwinMaking(ROWS, files)
    for made in (subject.taking(LAYOUT).twin(twin, making), subject.twin(twin, making)):
        assert isinstance(made, Subject)
        assert torch.allclose(made.taking(LAYOUT).target().predict(ROWS), expected, atol=0.1)


def test_a_trained_copy_takes_them_too_and_can_be_saved(files: Path, tmp_path: Path) -> None:
    trained = SUBJECTS["torch module"](files).taking(LAYOUT).trainable()
    trained.train([(ROWS, torch.zeros(4).long())], rate=0.1)
    (tmp_path / "trained.pt2").write_bytes(trained.saved(".pt2", ROWS[:1]))
    again = load(str(tmp_path / "trained.pt2")).taking(LAYOUT)
    assert torch.allclose(again.target().predict(ROWS), trained.target.predict(ROWS), atol=1e-5)


def test_a_function_gets_arrays_of_numpy_if_it_says_so(files: Path) -> None:
    target = load(f"{files / 'nets.py'}:function").taking(LAYOUT).target()
    assert torch.allclose(target.predict(ROWS).float(), POINTS.flatten(1) * 2 + AGES[:, None])


def test_without_names_the_order_counts(files: Path) -> None:
    by_order = replace(LAYOUT, fields=LAYOUT.fields[::-1], by_name=False)
    rows = by_order.packed({"age": AGES, "points": POINTS})
    expected = SUBJECTS["torch module"](files).taking(LAYOUT).target().predict(ROWS)
    assert torch.equal(SUBJECTS["torch module"](files).taking(by_order).target().predict(rows), expected)


@every_subject
def test_names_that_the_model_does_not_take_are_refused_with_both_lists(name: str, files: Path) -> None:
    other = Layout((Field("points", (1, 2)), Field("years", ())))
    with pytest.raises(ModelRefused, match="takes points, age, of which age is missing: give arrays of"):
        SUBJECTS[name](files).taking(other)


@every_subject
def test_a_model_of_several_inputs_is_refused_where_there_is_one(name: str, files: Path) -> None:
    with pytest.raises(ModelRefused, match="the model takes points, age, and seeds are one array"):
        SUBJECTS[name](files).taking(None)

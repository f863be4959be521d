"""Torch modules that are traced, exported and compiled: batches, names, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.layout import Field, Layout
from jostle.subjects.registry import load, subject_of
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet1, mnist_sample

IMAGES = mnist_sample()[0][:6]
# Not in the order of the parameters.
LAYOUT = Layout((Field("tokens", (4,), torch.int64), Field("numbers", (2,))))


class TwoInputs(nn.Module):
    """Takes numbers and tokens by name, and gives two tensors by name."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(9, 3), nn.Linear(2, 3)

    def forward(self, numbers: Tensor, tokens: Tensor) -> dict[str, Tensor]:
        both = self.linear(numbers) + self.embedding(tokens).mean(1)
        return {"scores": both, "squares": both**2}


class InPairs(nn.Module):
    """Looks at its batch in Python, so that it is traced for one size only."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(1) * (1 if len(inputs) % 2 else 2)


class Unconvertible(nn.Module):
    """Decides by values."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(1) if float(inputs.sum()) > 1 else inputs.flatten(1) * 2


def packed_rows() -> Tensor:
    rng = torch.Generator().manual_seed(0)
    arrays = {"numbers": torch.rand(5, 2, generator=rng), "tokens": torch.randint(0, 9, (5, 4), generator=rng)}
    return LAYOUT.packed(arrays)


def of(module: nn.Module) -> Subject:
    subject = subject_of(module)
    assert subject is not None
    return subject


def made(subject: Subject, twin: str, making: TwinMaking) -> Subject:
    found = subject.twin(twin, making)
    assert isinstance(found, Path)
    return load(str(found))


@pytest.mark.parametrize("twin", ["export", "onnx", "int8-static", "openvino"])
def test_several_inputs_and_outputs_keep_their_names(twin: str, tmp_path: Path) -> None:
    subject, rows = of(TwoInputs()).taking(LAYOUT), packed_rows()
    other = made(subject, twin, TwinMaking(rows, tmp_path)).taking(LAYOUT)
    assert other.batch is None
    assert list(other.outputs(rows)) == ["scores", "squares"] == list(subject.outputs(rows))
    assert torch.allclose(other.target().predict(rows), subject.target().predict(rows), atol=0.05)


def test_what_was_exported_can_be_exported_again_with_the_names_of_its_inputs(tmp_path: Path) -> None:
    subject, rows = of(TwoInputs()).taking(LAYOUT), packed_rows()
    once = made(subject, "export", TwinMaking(rows, tmp_path / "once")).taking(LAYOUT)
    twice = made(once, "export", TwinMaking(rows, tmp_path / "twice")).taking(LAYOUT)
    assert torch.equal(twice.target().predict(rows), subject.target().predict(rows))


@pytest.mark.parametrize("twin", ["export", "onnx"])
def test_a_module_that_allows_one_batch_size_only_is_converted_for_such_a_size(twin: str, tmp_path: Path) -> None:
    subject = of(InPairs())
    other = made(subject, twin, TwinMaking(IMAGES, tmp_path))
    assert other.batch == 16
    rows = IMAGES[torch.arange(16) % 6]
    assert torch.equal(other.target().predict(rows), subject.target().predict(rows))


@pytest.mark.parametrize("twin", ["export", "onnx", "int8-static", "openvino"])
def test_what_cannot_be_traced_is_refused_in_one_line_that_names_the_twin(twin: str, tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=rf"^--twin {twin} cannot be made \([^\n]*\): choose another twin$"):
        of(Unconvertible()).twin(twin, TwinMaking(IMAGES, tmp_path))


def test_a_torch_module_has_no_litert_twin_and_the_line_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"^--twin litert cannot be made of a torch module: .* --twin FILE\.tflite$"):
        of(lenet1()).twin("litert", TwinMaking(IMAGES, tmp_path))


def test_normalisation_is_outside_of_what_is_converted_and_inside_of_what_scales_are_measured_on(
    tmp_path: Path,
) -> None:
    """Scales that were measured on 0 to 255 leave nothing of inputs from 0 to 1."""
    module, rows = lenet1(), IMAGES * 255
    making = TwinMaking(rows, tmp_path, mean=(0.0,), std=(255.0,))
    quantised = made(of(module), "int8-static", making)
    answers = quantised.target().predict(IMAGES)
    assert torch.allclose(answers, module.eval()(IMAGES).detach(), atol=1.0)
    careless = made(of(module), "int8-static", TwinMaking(rows, tmp_path / "careless")).target().predict(IMAGES)
    assert not torch.allclose(careless, answers, atol=1.0)


@pytest.mark.slow
def test_a_compiled_twin_is_compiled_once_for_all_batches(tmp_path: Path) -> None:
    torch._dynamo.reset()
    twin = of(nn.Sequential(nn.Flatten(), nn.Linear(784, 3))).twin("compile", TwinMaking(IMAGES, tmp_path))
    assert isinstance(twin, Subject)
    target = twin.target()
    torch._dynamo.utils.counters.clear()
    for size in (1, 3, 5, 6, 4, 1):
        assert target.predict(IMAGES[:size]).shape == (size, 3)
    assert torch._dynamo.utils.counters["stats"].get("unique_graphs", 0) <= 1  # of two rows


def test_torchscript_is_not_compiled_once_more(tmp_path: Path) -> None:
    scripted = torch.jit.trace(lenet1().eval(), IMAGES[:2])
    with pytest.raises(ModelRefused, match="--twin compile cannot be made of TorchScript"):
        of(scripted).twin("compile", TwinMaking(IMAGES, tmp_path))

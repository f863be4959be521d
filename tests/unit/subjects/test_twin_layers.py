"""A model and its twins seen from inside."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from jostle.foreign import Crash, FailedElsewhere, attempt
from jostle.options.campaign import InputOptions, WatchOptions
from jostle.records import TWIN, LayerGaps
from jostle.subjects import twin_layers
from jostle.subjects.instrument import Instrumentation
from jostle.subjects.layer_matching import NamedLayer
from jostle.subjects.registry import load
from jostle.subjects.subject import Subject
from jostle.subjects.torch_function import Function
from jostle.subjects.torch_module import of_module
from jostle.subjects.torch_twins import TWINS
from jostle.subjects.twin_layers import LayerRun, TwinLayers, _channels_last, _values
from jostle.targets.contained import MOST_DEATHS, ContainedLayers
from jostle.zoo import lenet1, lenet5, mnist_sample
from making import options, trace_of
from model_files import write_onnx

IMAGES = mnist_sample()[0][:12]
WEIGHED = ["conv1", "conv2", "fc1", "fc2", "fc3"]


def between(own: nn.Module | Subject, twin: nn.Module | Subject, sample: Tensor = IMAGES) -> TwinLayers:
    given = options(model="model")
    watching = Instrumentation(given.of(WatchOptions), given.of(InputOptions))
    model, other = (of_module(one) if isinstance(one, nn.Module) else one for one in (own, twin))
    return TwinLayers(model, {TWIN: other}, sample[:2], watching)


def gaps_of(own: nn.Module | Subject, twin: nn.Module | Subject, inputs: Tensor = IMAGES) -> LayerGaps:
    return between(own, twin, inputs).gaps(inputs, TWIN)


def names(found: LayerGaps) -> list[str]:
    return [ours for ours, _ in found.layers]


def differing(found: LayerGaps, by: float = 0.0) -> list[str]:
    return [name for name, gaps in zip(names(found), found.gaps.T, strict=True) if (gaps > by).any()]


def perturbed(own: nn.Module, layer: str, seed: int, by: float = 0.05) -> nn.Module:
    twin = copy.deepcopy(own)
    weight = twin.get_submodule(layer).weight
    assert isinstance(weight, Tensor)
    with torch.no_grad():
        weight += by * torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
    return twin


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("layer", WEIGHED)
def test_a_perturbed_layer_and_all_after_it_differ_and_none_before(layer: str, seed: int) -> None:
    found = gaps_of(lenet5(), perturbed(lenet5(), layer, seed))
    all_layers = names(found)
    assert differing(found) == all_layers[all_layers.index(layer) :]
    assert set(WEIGHED) <= set(all_layers)


def test_a_gap_is_the_root_mean_square_of_what_differs() -> None:
    own, twin = lenet1(), perturbed(lenet1(), "conv1", 0)
    found = gaps_of(own, twin)
    with torch.no_grad():
        ours, theirs = (one.conv1(IMAGES).double() for one in (own, twin))
    assert found.layers[0] == ("conv1", "conv1")
    torch.testing.assert_close(found.gaps[:, 0], (ours - theirs).square().mean((1, 2, 3)).sqrt())
    torch.testing.assert_close(found.sizes[:, 0], ours.square().mean((1, 2, 3)).sqrt())


def test_a_batch_is_compared_as_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gaps_of(lenet5(), perturbed(lenet5(), "conv2", 0))
    monkeypatch.setattr(twin_layers, "ROOM", 1)
    again = gaps_of(lenet5(), perturbed(lenet5(), "conv2", 0))
    torch.testing.assert_close(again.gaps, found.gaps, rtol=1e-4, atol=1e-6)


def test_a_copy_differs_nowhere_even_if_all_is_zero() -> None:
    assert differing(gaps_of(lenet5(), lenet5())) == []
    zeros = gaps_of(lenet5(), lenet5(), torch.zeros_like(IMAGES))
    assert differing(zeros) == [] and zeros.gaps.isfinite().all()


@pytest.mark.parametrize(("name", "first"), [("float16", "conv1"), ("bfloat16", "conv1"), ("int8", "fc1")])
def test_twins_differ_from_where_they_compute_otherwise(name: str, first: str) -> None:
    assert differing(gaps_of(lenet5(), TWINS[name](lenet5())))[0] == first


def test_a_twin_that_takes_its_scale_from_the_batch_is_compared_input_by_input() -> None:
    compared = between(lenet5(), TWINS["int8"](lenet5()))
    alone = LayerGaps.joined([compared.gaps(image, TWIN) for image in IMAGES.split(1)])
    torch.testing.assert_close(compared.gaps(IMAGES, TWIN).gaps, alone.gaps, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_onnx(lenet1(), IMAGES[:2], tmp_path_factory.mktemp("exported") / "net.onnx")


@pytest.mark.parametrize("layer", ["conv1", "conv2", "fc1"])
def test_a_changed_initializer_of_an_export_shows_under_the_modules_name(
    exported: Path, tmp_path: Path, layer: str
) -> None:
    proto, path = onnx.load(exported), tmp_path / "changed.onnx"
    (weight,) = (one for one in proto.graph.initializer if one.name.endswith(f"{layer}.weight"))
    values = numpy_helper.to_array(weight)
    noise = np.random.default_rng(0).normal(size=values.shape).astype(np.float32)
    weight.CopyFrom(numpy_helper.from_array(values + 0.1 * noise, weight.name))
    onnx.save(proto, path)
    found = gaps_of(lenet1(), load(str(path)))
    assert differing(found, by=1e-3)[0] == layer
    assert {"conv1", "conv2", "fc1"} <= set(names(found))


def test_a_layer_that_runs_twice_is_compared_each_time() -> None:
    class Twice(nn.Module):
        def __init__(self, more: float) -> None:
            super().__init__()
            self.scale, self.more = nn.Softplus(), more

        def forward(self, inputs: Tensor) -> Tensor:
            return self.scale(self.scale(inputs) + self.more).flatten(1)

    found = gaps_of(Twice(0.0), Twice(0.1))
    assert names(found) == ["scale", "scale#2"]
    assert differing(found) == ["scale#2"]


def test_what_happens_after_the_last_layer_shows_in_the_output_unless_that_is_of_a_softmax() -> None:
    class Ending(nn.Module):
        def __init__(self, shift: float, softmax: bool = False) -> None:
            super().__init__()
            self.first, self.shift, self.softmax = nn.Flatten(), shift, softmax

        def forward(self, inputs: Tensor) -> Tensor:
            scores = self.first(inputs) * (1 + self.shift)
            return scores.softmax(1) if self.softmax else scores

    assert differing(gaps_of(Ending(0.5), Ending(0.0))) == ["output"]
    assert names(gaps_of(Ending(0.5, softmax=True), Ending(0.0, softmax=True))) == ["first"]
    assert names(gaps_of(Ending(0.0), Ending(0.0))) == ["first"], "a layer that gives the output stands for it"


class Trap(nn.Module):
    """Passes on what it is given; an input that begins with more than a half becomes something else."""

    def __init__(self, becomes: float) -> None:
        super().__init__()
        self.becomes = becomes

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.where(inputs[:, :1] > 0.5, self.becomes, inputs)


@pytest.mark.parametrize("becomes", [torch.nan, torch.inf, -torch.inf])
def test_what_is_finite_in_one_model_only_is_infinitely_far(becomes: float) -> None:
    own, twin = (nn.Sequential(nn.Flatten(), one, nn.Linear(784, 3)) for one in (nn.Identity(), Trap(becomes)))
    twin[2].load_state_dict(own[2].state_dict())
    inputs = IMAGES.clone()
    inputs[3, 0, 0, 0] = 1.0
    found = gaps_of(own, twin, inputs)
    assert names(found) == ["0", "1", "2"]
    assert found.gaps[3].tolist() == [0.0, torch.inf, torch.inf]
    assert not found.gaps[[0, 1, 2, *range(4, 12)]].any()
    both = gaps_of(twin, twin, inputs)
    assert not both.gaps.any(), "both hold it"


def test_layers_with_their_channels_last_are_compared_channel_by_channel() -> None:
    values = torch.rand(5, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    first, last = values.flatten(1), values.permute(0, 2, 3, 1).flatten(1)
    means = values.mean((2, 3))
    assert not _channels_last(first[:1], means[:1]) and _channels_last(last[:1], means[:1])
    layer = LayerRun(NamedLayer("conv", 48, 3), "conv", channels_last=True, gives_output=False)
    arranged = _values(trace_of(means, activations={"conv": last}), layer)
    assert arranged is not None and torch.equal(arranged, first)


def test_models_without_layers_in_common_cannot_be_looked_into() -> None:
    function = Function(lambda images: images.flatten(1)[:, :10])
    for own, twin in ((lenet5(), function), (function, lenet5()), (nn.Sequential(lenet5()), nn.Flatten())):
        found = gaps_of(own, twin)
        assert found.layers == () and found.gaps.shape == (len(IMAGES), 0)


def test_a_twin_that_takes_one_input_at_a_time_is_looked_into() -> None:
    class Single(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.digits = lenet1()

        def forward(self, images: Tensor) -> Tensor:
            assert len(images) == 1
            return self.digits(images)

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.digits = lenet1()

        def forward(self, images: Tensor) -> Tensor:
            return self.digits(images)

    found = gaps_of(Wrapped(), Single())
    assert differing(found, by=1e-5) == [] and "digits.conv1" in names(found)


class Picky(nn.Module):
    """Raises where the corner is lit."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Flatten(), nn.Linear(784, 3)

    def forward(self, images: Tensor) -> Tensor:
        if (images[:, 0, 0, 0] > 0.5).any():
            raise ArithmeticError("the corner is lit")
        return self.last(self.first(images))


def test_inputs_on_which_a_twin_fails_while_looked_into_are_unknown_and_the_others_known() -> None:
    inputs, own = IMAGES.clone(), Picky()
    inputs[[0, 5], 0, 0, 0] = 1.0
    compared = between(own, perturbed(own, "last", 0), inputs)
    assert isinstance(attempt(lambda: compared.gaps(inputs, TWIN)), Crash)
    found = ContainedLayers(compared).gaps(inputs, TWIN)
    assert found.gaps.isnan().all(1).tolist() == [number in (0, 5) for number in range(len(inputs))]
    lit = ContainedLayers(compared).gaps(inputs[[0, 5]], TWIN)
    assert lit.layers == () and len(lit.gaps) == 2


def test_models_whose_process_dies_of_being_looked_into_are_left_alone_after_some_deaths() -> None:
    asked: list[int] = []

    class Deadly:
        def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
            asked.append(len(inputs))
            raise FailedElsewhere(Crash("SIGKILL", "out of memory", "", "", fatal=True))

    contained = ContainedLayers(Deadly())
    for _ in range(3):
        found = contained.gaps(IMAGES, TWIN)
        assert found.layers == () and len(found.gaps) == len(IMAGES)
    assert len(asked) == MOST_DEATHS

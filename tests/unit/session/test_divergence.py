"""Where twins depart from their model, and whether the seeds show the same."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from jostle.options.campaign import InputOptions, WatchOptions
from jostle.records import TWIN, LayerGaps
from jostle.session.divergence import LocatedDivergence, lasting_start, on_seed_layers
from jostle.storage.finding_record import Divergence
from jostle.subjects.instrument import Instrumentation
from jostle.subjects.torch_module import of_module
from jostle.subjects.twin_layers import TwinLayers
from jostle.targets.contained import ContainedLayers
from jostle.zoo import lenet5, mnist_sample
from making import options

IMAGES = mnist_sample()[0]
WEIGHED = ["conv1", "conv2", "fc1", "fc2", "fc3"]


class Spoilt(nn.Module):
    """A layer that gives something else for inputs that are bright in the corner, which no seed is."""

    def __init__(self, layer: nn.Module, seed: int, marker: list[Tensor]):
        super().__init__()
        self._layer, self._seed, self._marker = [layer], seed, marker

    def forward(self, inputs: Tensor) -> Tensor:
        values = self._layer[0](inputs)
        noise = torch.randn(values.shape[1:], generator=torch.Generator().manual_seed(self._seed))
        bright = self._marker[0][:, 0, 0, 0] > 0.9
        return values + 0.5 * values.std() * noise * bright.view(-1, *[1] * (values.ndim - 1))


class Marked(nn.Module):
    """A network, one layer of which is spoilt for bright inputs only."""

    def __init__(self, layer: str, seed: int):
        super().__init__()
        self._marker: list[Tensor] = [torch.empty(0)]
        self.module = lenet5()
        setattr(self.module, layer, Spoilt(getattr(self.module, layer), seed, self._marker))

    def forward(self, images: Tensor) -> Tensor:
        self._marker[0] = images
        return self.module(images)


def located(twin: nn.Module, inputs: Tensor, seeds: Tensor = IMAGES[:100]) -> list[Divergence | None]:
    given = options(model="model")
    watching = Instrumentation(given.of(WatchOptions), given.of(InputOptions))
    compared = TwinLayers(of_module(lenet5()), {TWIN: of_module(twin)}, seeds[:2], watching)
    return LocatedDivergence(ContainedLayers(compared), seeds, {TWIN: "twin.pt2"}).on(inputs, TWIN)


def begins(found: list[Divergence | None]) -> set[tuple[str | None, bool]]:
    assert all(one is not None and one.twin == "twin.pt2" for one in found)
    return {(one.begins, one.beyond_seeds) for one in found if one is not None}


def bright(images: Tensor) -> Tensor:
    lit = images.clone()
    lit[:, 0, 0, 0] = 1.0
    return lit


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("layer", WEIGHED)
def test_a_defect_that_no_seed_shows_begins_in_its_layer(layer: str, seed: int) -> None:
    twin = Marked(layer, seed)
    assert begins(located(twin, bright(IMAGES[100:140]))) == {(layer, True)}
    assert begins(located(twin, IMAGES[100:140])) == {(None, False)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("layer", WEIGHED)
@pytest.mark.parametrize("by", [0.003, 0.3])
def test_what_the_seeds_show_too_begins_where_it_differs_first(layer: str, seed: int, by: float) -> None:
    twin = lenet5()
    weight = twin.get_submodule(layer).weight
    assert isinstance(weight, Tensor)
    with torch.no_grad():
        weight += by * torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
    assert begins(located(twin, IMAGES[100:140])) == {(layer, False)}


def test_a_layer_that_only_one_of_them_holds_finite_is_where_it_begins() -> None:
    class Overflowing(nn.ReLU):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values) / (values.amax((1, 2, 3), keepdim=True) < 1e3)

    twin = lenet5()
    twin.relu2 = Overflowing()
    assert begins(located(twin, 1e6 * IMAGES[100:110])) == {("relu2", True)}


def test_larger_inputs_are_measured_by_what_the_model_gives_for_them() -> None:
    twin = lenet5()
    with torch.no_grad():
        twin.get_parameter("conv1.weight").mul_(1.001)
    assert begins(located(twin, 100 * IMAGES[100:140])) == {("conv1", False)}


def test_the_table_tells_what_is_usual_on_the_seeds() -> None:
    twin = lenet5()
    with torch.no_grad():
        twin.get_parameter("fc2.weight").mul_(1.01)
    found = located(twin, IMAGES[100:140])
    for one in found:
        assert one is not None
        table = {layer.layer: layer for layer in one.layers}
        assert table["fc1"].value == table["fc1"].on_seeds == 0
        assert 0.002 < table["fc2"].on_seeds < 0.02 and 0 < table["fc2"].value < 2 * table["fc2"].on_seeds
        assert table["fc2"].twin_layer == "fc2"


def test_zeros_everywhere_begin_nowhere() -> None:
    zeros = torch.zeros(3, 1, 28, 28)
    assert begins(located(lenet5(), zeros, zeros)) == {(None, False)}
    dead = lenet5()
    for parameter in dead.parameters():
        nn.init.zeros_(parameter)
    found = located(copy.deepcopy(dead), zeros)
    assert all(one is not None and one.beyond_seeds is False for one in found)


def test_a_twin_without_layers_is_said_to_have_none_and_one_that_fails_is_unknown() -> None:
    class Failing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = lenet5()

        def forward(self, images: Tensor) -> Tensor:
            if (images[:, 0, 0, 0] > 0.9).any():
                raise ArithmeticError("too bright")
            return self.module(images)

    assert located(nn.Flatten(), IMAGES[:2]) == [Divergence("twin.pt2", None, False, ())] * 2
    mixed = located(Failing(), torch.cat([IMAGES[:1], bright(IMAGES[1:2])]))
    assert mixed[0] is not None and mixed[1] is None
    assert located(Failing(), bright(IMAGES[:2])) == [None, None]
    assert located(Failing(), IMAGES[:2], bright(IMAGES[:3])) == [Divergence("twin.pt2", None, False, ())] * 2


@pytest.mark.parametrize(
    ("over", "start"),
    [
        ("", None),
        ("....", None),
        ("...x", 3),
        (".xxx", 1),
        ("x...", None),
        ("x.....xx", 6),
        (".xx..xxx", 1),
        ("xxxx", 0),
    ],
)
def test_it_begins_where_at_least_half_of_what_follows_is_over(over: str, start: int | None) -> None:
    assert lasting_start(torch.tensor([one == "x" for one in over], dtype=torch.bool)) == start


def gaps_of(*columns: list[float]) -> LayerGaps:
    gaps = torch.tensor(columns, dtype=torch.float64).T
    return LayerGaps(tuple((str(n), str(n)) for n in range(len(columns))), gaps, torch.ones_like(gaps))


def test_what_is_usual_is_what_95_of_100_seeds_do_not_exceed() -> None:
    known = on_seed_layers(gaps_of([*map(float, range(100))], [torch.inf] * 2 + [0.5] * 98))
    assert known.usual.tolist() == [94.0, 0.5]


def test_seeds_on_which_a_layer_did_not_run_say_nothing_of_it() -> None:
    known = on_seed_layers(gaps_of([torch.nan, 1.0, 2.0], [torch.nan] * 3))
    assert known.usual[0] == 2.0 and known.alike.tolist() == [True, False]


def test_layers_that_are_far_apart_although_later_ones_are_close_do_not_correspond() -> None:
    fused = on_seed_layers(gaps_of([0.9], [1e-6], [0.8], [1e-5]))
    assert fused.alike.tolist() == [False, True, False, True]
    broken = on_seed_layers(gaps_of([1e-6], [0.9], [0.8], [0.7]))
    assert broken.alike.all()

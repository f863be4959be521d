"""Which layers a module has, in the order they run, and which of them to watch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import UsageError
from jostle.subjects.layers import activated, before_softmax, matching, speaking, working
from jostle.subjects.torch_layers import layers_of
from jostle.zoo import lenet1, lenet4, lenet5


class OutOfOrder(nn.Module):
    """Runs its children in another order than they were made, one of them twice and one never."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 2)
        self.first = nn.Linear(4, 4)
        self.shared = nn.ReLU()
        self.unused = nn.Linear(1, 1)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Dropout())

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(self.shared(self.block(self.shared(self.first(inputs)))))


class Odd(nn.Module):
    """Layers that do not give one row of numbers per input."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(3, 4)
        self.merged = nn.Flatten(0)
        self.head = nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        self.merged(inputs)
        return self.head(inputs + self.positions(torch.arange(1)))


def names(module: nn.Module, sample: Tensor) -> list[str]:
    return [layer.name for layer in layers_of(module.eval(), sample)]


def test_layers_are_leaves_in_the_order_of_their_first_call() -> None:
    assert names(OutOfOrder(), torch.zeros(2, 4)) == ["first", "shared", "block.0", "block.1", "last"]


def test_layers_that_do_not_give_one_row_per_input_are_left_out() -> None:
    assert names(Odd(), torch.zeros(2, 4)) == ["head"]


def test_looking_leaves_no_hook_behind_even_when_the_model_fails() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 3))
    with pytest.raises(RuntimeError):
        layers_of(module, torch.zeros(1, 4))
    assert not any(child._forward_hooks for child in module.modules())


def test_the_layer_before_softmax_is_the_last_that_is_none() -> None:
    plain = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    for last in (nn.Softmax(1), nn.LogSoftmax(1)):
        assert before_softmax(layers_of(nn.Sequential(*plain, last), torch.zeros(2, 4))) == ["1"]
    assert before_softmax(layers_of(plain, torch.zeros(2, 4))) == ["1"]
    assert before_softmax([]) == []


def test_the_softmax_of_an_exported_program_is_recognised() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logits, self.probabilities = nn.Linear(4, 3), nn.Softmax(1)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.probabilities(self.logits(inputs))

    program = torch.export.export(Net(), (torch.zeros(2, 4),))
    layers = layers_of(torch.export.unflatten(program), torch.zeros(2, 4))
    assert [layer.name for layer in layers] == ["logits", "probabilities"]
    assert before_softmax(layers) == ["logits"]


def test_layers_that_only_pass_on_are_not_watched_unless_asked_for() -> None:
    layers = layers_of(lenet5(), torch.zeros(2, 1, 28, 28))
    assert working(layers) == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert matching(layers, ["relu*", "fc3"]) == ["relu1", "relu2", "relu3", "relu4", "fc3"]


def test_neurons_are_counted_in_every_layer_that_changes_what_it_is_given() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(), nn.Identity())
    assert speaking(layers_of(net.eval(), torch.zeros(2, 1, 6, 6))) == ["0", "1", "2"]


@pytest.mark.parametrize("last", [nn.ReLU(), nn.Flatten(), nn.Identity(), nn.Dropout()])
def test_the_layer_that_novelty_looks_at_is_watched_even_if_it_only_passes_on(last: nn.Module) -> None:
    layers = layers_of(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), last).eval(), torch.zeros(2, 2))
    assert before_softmax(layers) == ["2"]
    assert working(layers) == ["0", "2"]


def test_matching_layers_keep_the_order_they_run_in() -> None:
    layers = layers_of(lenet5(), torch.zeros(2, 1, 28, 28))
    assert matching(layers, ["fc?", "conv1"]) == ["conv1", "fc1", "fc2", "fc3"]


def test_a_pattern_that_matches_nothing_is_refused_with_the_nearest_names() -> None:
    layers = layers_of(lenet5(), torch.zeros(2, 1, 28, 28))
    with pytest.raises(UsageError, match=r"'con1' matches no layer; nearest names: conv1"):
        matching(layers, ["fc*", "con1"])


class Residual(nn.Module):
    """A block of a ResNet, whose only ReLU runs twice: behind a normalisation, and behind a sum."""

    def __init__(self, in_place: bool) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)
        self.conv2, self.norm2 = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)
        self.relu = nn.ReLU(in_place)

    def forward(self, inputs: Tensor) -> Tensor:
        inner = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(inputs)))))
        inner += inputs
        return self.relu(inner)


class UsedTwice(nn.Module):
    """What a layer gives goes into an activation and past it: into a sum, to another layer, or out of the model."""

    def __init__(self, past: str) -> None:
        super().__init__()
        self.past, self.first, self.relu, self.other = past, nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)

    def forward(self, inputs: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        raw = self.first(inputs)
        rectified = self.relu(raw)
        if self.past == "a sum":
            return rectified + raw
        return self.other(raw) if self.past == "a layer" else (rectified, raw)


def exported(module: nn.Module, sample: Tensor) -> nn.Module:
    return torch.export.unflatten(torch.export.export(module.eval(), (sample,)))


@pytest.mark.parametrize("as_it_runs", [lambda module, sample: module.eval(), exported], ids=["module", "exported"])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_layer_and_the_activation_behind_it_are_counted_once(as_it_runs: Callable, in_place: bool) -> None:  # type: ignore[type-arg]
    sample = torch.zeros(2, 1, 6, 6)
    chain = [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(), nn.ReLU(in_place), nn.MaxPool2d(2), nn.Flatten()]
    net = as_it_runs(nn.Sequential(*chain, nn.Linear(8, 3), nn.Softmax(1)), sample)
    assert activated(layers_of(net, sample)) == ["3", "4", "6", "7"]


@pytest.mark.parametrize("in_place", [False, True])
def test_what_is_added_to_a_shortcut_is_counted_before_and_behind(in_place: bool) -> None:
    block = Residual(in_place).eval()
    assert activated(layers_of(block, torch.zeros(2, 2, 4, 4))) == ["relu", "norm2"]


@pytest.mark.parametrize("past", ["a sum", "a layer", "the output"])
def test_a_layer_that_is_used_beside_its_activation_is_counted_too(past: str) -> None:
    assert activated(layers_of(UsedTwice(past), torch.zeros(2, 4)))[:2] == ["first", "relu"]


def test_a_shared_layer_is_left_out_only_if_each_of_its_calls_is_activated() -> None:
    class Shared(nn.Module):
        def __init__(self, last: nn.Module) -> None:
            super().__init__()
            self.shared, self.relu, self.last = nn.Linear(4, 4), nn.ReLU(), last

        def forward(self, inputs: Tensor) -> Tensor:
            return self.last(self.shared(self.relu(self.shared(inputs))))

    assert activated(layers_of(Shared(nn.Tanh()), torch.zeros(2, 4))) == ["relu", "last"]
    assert activated(layers_of(Shared(nn.Linear(4, 2)), torch.zeros(2, 4))) == ["shared", "relu", "last"]


def test_a_model_whose_operators_cannot_be_followed_shows_its_layers_all_the_same() -> None:
    class Refuses(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.relu = nn.Linear(4, 4), nn.ReLU()

        def forward(self, inputs: Tensor) -> Tensor:
            if torch.utils._python_dispatch._get_current_dispatch_mode() is not None:
                raise RuntimeError("no modes")
            return self.relu(self.first(inputs))

    assert activated(layers_of(Refuses(), torch.zeros(2, 4))) == ["first", "relu"]


@pytest.mark.parametrize(("net", "neurons"), [(lenet1(), 42), (lenet4(), 138), (lenet5(), 258)], ids=["1", "4", "5"])
def test_lenets_have_as_many_neurons_as_in_papers_up_to_softmax(net: nn.Module, neurons: int) -> None:
    layers = layers_of(net, torch.zeros(2, 1, 28, 28))
    counted = activated(layers)
    assert sum(layer.shape[0] for layer in layers if layer.name in counted) == neurons


def test_a_compiled_module_has_the_layers_of_the_module() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)).eval()
    sample = torch.zeros(2, 1, 6, 6)
    plain = activated(layers_of(net, sample))
    compiled = activated(layers_of(torch.compile(net, backend="eager"), sample))
    assert plain == ["1", "3"]
    assert [name.removeprefix("_orig_mod.") for name in compiled if name != "_orig_mod"] == plain


@pytest.mark.slow
def test_looking_at_layers_does_not_import_the_compiler() -> None:
    program = (
        "import sys, torch; from jostle.zoo import lenet1; from jostle.subjects.torch_layers import layers_of; "
        "layers_of(lenet1(), torch.zeros(2, 1, 28, 28)); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0

"""The shipped networks and images are what their docstrings say."""

import pickle
from collections.abc import Callable

import pytest
import torch

from jostle.zoo import LeNet, lenet1, lenet4, lenet5, mnist_sample

CONVOLUTIONS = ["conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "flatten"]
LAYERS = [
    (lenet1, [*CONVOLUTIONS, "fc1"]),
    (lenet4, [*CONVOLUTIONS, "fc1", "relu3", "fc2"]),
    (lenet5, [*CONVOLUTIONS, "fc1", "relu3", "fc2", "relu4", "fc3"]),
]
STATED_ACCURACY = [(lenet1, 0.978), (lenet4, 0.982), (lenet5, 0.986)]
DENSE_INPUTS = [
    (lenet1, "valid", 192),
    (lenet4, "valid", 256),
    (lenet5, "valid", 256),
    (lenet1, "same", 588),
    (lenet4, "same", 784),
    (lenet5, "same", 784),
]
Builder = Callable[..., LeNet]
every_lenet = pytest.mark.parametrize("build", [lenet1, lenet4, lenet5])


def test_the_sample_is_500_images_between_0_and_1() -> None:
    images, labels = mnist_sample()
    assert (images.shape, images.dtype) == ((500, 1, 28, 28), torch.float32)
    assert (labels.shape, labels.dtype) == ((500,), torch.int64)
    assert (images.min().item(), images.max().item()) == (0.0, 1.0)


def test_the_digits_of_the_sample_take_turns_so_its_labels_are_balanced() -> None:
    _, labels = mnist_sample()
    assert torch.equal(labels, torch.arange(500) % 10)


def test_no_image_of_the_sample_appears_twice() -> None:
    images, _ = mnist_sample()
    assert len(images.flatten(1).unique(dim=0)) == 500


@pytest.mark.parametrize(("build", "stated"), STATED_ACCURACY)
def test_held_out_accuracy_is_at_least_the_stated_figure(build: Builder, stated: float) -> None:
    images, labels = mnist_sample()
    with torch.no_grad():
        right = build()(images).argmax(dim=1) == labels
    assert right.double().mean().item() >= stated


@pytest.mark.parametrize(("build", "names"), LAYERS)
def test_layers_run_once_each_in_the_order_of_their_names(build: Builder, names: list[str]) -> None:
    model, ran = build(), []
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda *_, name=name: ran.append(name))
    model(torch.zeros(1, 1, 28, 28))
    assert ran == names


@pytest.mark.parametrize(("build", "padding", "features"), DENSE_INPUTS)
def test_both_geometries_give_ten_logits_per_image(build: Builder, padding: str, features: int) -> None:
    model = build(padding=padding, pretrained=False)
    assert model.get_submodule("fc1").in_features == features
    assert model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)


@every_lenet
def test_same_padding_has_no_shipped_weights(build: Builder) -> None:
    with pytest.raises(ValueError, match="pretrained=False"):
        build(padding="same")


@every_lenet
def test_shipped_networks_come_in_eval_mode_as_float32(build: Builder) -> None:
    model = build()
    assert not any(module.training for module in model.modules())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@every_lenet
def test_loading_leaves_the_global_random_state_alone(build: Builder) -> None:
    before = torch.get_rng_state()
    build()
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_and_images_load_without_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("shipped data was unpickled")

    for module, name in [(pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")]:
        monkeypatch.setattr(module, name, refuse)
    images, _ = mnist_sample()
    for build in (lenet1, lenet4, lenet5):
        assert build()(images[:2]).isfinite().all()

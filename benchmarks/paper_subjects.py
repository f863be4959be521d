"""The networks of the papers' tables, each with its images and its stages of training, by one function.

    subject("resnet20", None).held_out()

LeNets are the published ones where a data folder is given (`--data`, JOSTLE_DATA), else those that ship with Jostle.
CIFAR-10 is read from `cifar10` in the data folder, else from JOSTLE_CIFAR10, else from .data/cifar10 of the checkout.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from torch import Tensor, nn

import deephunter_lenets
from imagenet_subjects import imagenet_subject
from jostle.errors import UsageError
from jostle.zoo import cifar10, resnet20, vgg8
from lenet_stages import trained_stages
from mnist_data import held_out_images, training_images

LENETS = tuple(deephunter_lenets.SHAPES)
NAMES = (*LENETS, "resnet20", "vgg8", "efficientnet_lite0")
CHECKOUT = Path(__file__).resolve().parent.parent
# All layers that Keras builds ResNet-20 of, but for the one that flattens: DeepHunter's 2,570 neurons of 70 layers.
RESNET20_LAYERS = (
    *("conv", "norm", "relu", "block*.conv?", "block*.norm?", "block*.relu?", "block*.sum"),
    *("block2_1.carry", "block3_1.carry", "pool", "softmax"),
)
VGG_LAYERS = ("relu*", "pool*", "softmax")


class Stages(Mapping[str, nn.Module]):
    """Models A, B and C of one training, the best last, made when the first of them is asked for; empty without any."""

    def __init__(self, make: Callable[[], Mapping[str, nn.Module]] = dict) -> None:
        self._made = cache(make)

    def __getitem__(self, stage: str) -> nn.Module:
        return self._made()[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


@dataclass(frozen=True)
class PaperSubject:
    """A network that ends in softmax, the layers whose neurons DeepHunter counts, and the images it is tested with."""

    name: str
    model: nn.Module
    layers: tuple[str, ...]
    training: Callable[[], Tensor] = field(repr=False)  # images [n, ...] in 0..1 for profiles
    held_out: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)  # images and labels, none trained on
    stages: Mapping[str, nn.Module] = field(repr=False)
    pretrained: bool
    data: str  # which images these are, in words


def subject(name: str, data: Path | None = None) -> PaperSubject:
    """The subject of that name; CIFAR-10 is looked for when its images are asked for, not before."""
    if name in LENETS:
        return _lenet(name, data)
    if name == "resnet20":
        return _of_cifar10(name, resnet20(), RESNET20_LAYERS, Stages(_resnet20_stages), data)
    if name == "vgg8":
        return _of_cifar10(name, vgg8(), VGG_LAYERS, Stages(), data)
    if name == "efficientnet_lite0":
        return _efficientnet_lite0()
    nearest = difflib.get_close_matches(name, NAMES, n=1, cutoff=0)
    raise UsageError(f"there is no subject {name!r}: did you mean {nearest[0]}? There are {', '.join(NAMES)}")


def cifar10_folder(data: Path | None) -> Path:
    """Where CIFAR-10 is, or is to be put."""
    if data is not None and (data / "cifar10").is_dir():
        return data / "cifar10"
    named = os.environ.get("JOSTLE_CIFAR10")
    return Path(named) if named else CHECKOUT / ".data" / "cifar10"


_cifar10 = cache(cifar10)


def _lenet(name: str, data: Path | None) -> PaperSubject:
    def stages() -> Mapping[str, nn.Module]:
        images, labels, _ = training_images(data)
        return trained_stages(name, images, labels)

    return PaperSubject(
        name,
        deephunter_lenets.network(name, data),
        tuple(deephunter_lenets.LAYERS.split(",")),
        lambda: training_images(data)[0],
        lambda: held_out_images(data)[:2],
        Stages(stages),
        pretrained=True,
        data="the 500 MNIST images that ship with Jostle" if data is None else "MNIST",
    )


def _resnet20_stages() -> Mapping[str, nn.Module]:
    return {stage: _with_softmax(resnet20(stage)) for stage in ("A", "B", "C")}


def _of_cifar10(
    name: str, model: nn.Module, layers: tuple[str, ...], stages: Stages, data: Path | None
) -> PaperSubject:
    folder = cifar10_folder(data)
    return PaperSubject(
        name,
        _with_softmax(model),
        layers,
        lambda: _cifar10(folder).training.float() / 255,
        lambda: (_cifar10(folder).test.float() / 255, _cifar10(folder).test_labels),
        stages,
        pretrained=True,
        data="CIFAR-10",
    )


def _efficientnet_lite0() -> PaperSubject:
    found = imagenet_subject("efficientnet_lite0")
    seeds = found.seeds()
    return PaperSubject(
        found.name,
        found.model,
        found.layers,
        lambda: found.images,
        lambda: (seeds.inputs, seeds.labels),
        Stages(),
        pretrained=True,
        data=f"the {len(seeds)} of foolbox's 20 ImageNet photographs that it gets right, its profile by all 20",
    )


def _with_softmax(model: nn.Module) -> nn.Module:
    model.add_module("softmax", nn.Softmax(1))
    return model.eval()

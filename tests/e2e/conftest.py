"""A workshop of models and seeds, right and wrong, for the command to run on."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image
from running import Ended, as_a_process, in_this_process

from jostle import CoverageMeter
from jostle.profile import encode_profile
from jostle.zoo import lenet1, lenet5, mnist_sample

MODELS = '''
import sys

import numpy as np
import torch
from torch import nn

from beside import lenet5  # a module beside this file
from jostle.zoo import mnist_sample

NUMBER = 5


def build():
    return lenet5()


def raising():
    raise RuntimeError("no weights here\\nand more lines")


def leaving():
    sys.exit(7)


class Noisy(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x.flatten(1), 0.5, training=True)


class Mixing(nn.Module):
    """Normalises over its batch."""

    def forward(self, x):
        return (x - x.mean(0)).flatten(1)[:, 300:310]


class Stubborn(nn.Sequential):
    """Stays in training mode."""

    def train(self, mode=True):
        return super().train(True)


def in_training():
    return Stubborn(nn.BatchNorm2d(1), lenet5())


class Writing(nn.Module):
    """Changes its input."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        return self.digits(x.mul_(0.9))


class OneByOne(nn.Module):
    """Takes one input at a time."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        return self.digits(x.view(1, 1, 28, 28))


class Squeezed(nn.Module):
    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        return self.digits(x).squeeze()


class Constant(nn.Module):
    def forward(self, x):
        return torch.zeros(len(x), 10)


class Overflowing(nn.Module):
    """Infinity as soon as any pixel of the upper left corner, black in every digit, is lit a little."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        return self.digits(x) * (1 + torch.exp(1e5 * (x[:, 0, 0, 0] - 0.1)))[:, None]


class Picky(nn.Module):
    """Raises for such inputs."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        if (x[:, 0, 0, 0] > 0.1).any():
            raise ArithmeticError("the corner is lit")
        return self.digits(x)


def untrained():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10, bias=False).requires_grad_(False))


def chance():
    model = untrained()
    model[1].weight.copy_(torch.linspace(-1, 1, 7840).reshape(10, 784))
    return model


def scalar():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 1))


def narrow():
    return nn.Sequential(nn.Flatten(), nn.Linear(100, 10))


class MiddleSlice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.reader = lenet5()

    def forward(self, x):  # [batch, 1, depth, 28, 28]
        return self.reader(x[:, :, x.shape[2] // 2])


def vectors():
    return nn.Linear(20, 4)


def coarse():
    """A classifier that lives on what 16 bit cannot hold: beside 100, the nearest such numbers are 1/16 apart."""
    model = untrained()
    model[1].weight.copy_(100 + torch.sin(torch.arange(7840.0)).reshape(10, 784))
    return model


def in_numpy(images: np.ndarray):
    return images.reshape(len(images), 784) @ np.sin(np.arange(7840.0, dtype=np.float32)).reshape(784, 10)


class Largest(nn.Module):
    """One for the class that LeNet-5 gives, zero for the others."""

    def __init__(self):
        super().__init__()
        self.digits = lenet5()

    def forward(self, x):
        return nn.functional.one_hot(self.digits(x).argmax(1), 10).float()


def flip(images):
    return images.flip(-1)


def flip_in_numpy(images: np.ndarray):
    return images[..., ::-1]


def flip_wrongly(images):
    flipped = images.flip(-1)
    flipped[images[:, 0, 0, 0] > 0.1] = 0
    return flipped


def loss(inputs, outputs, labels):
    return {"loss": nn.functional.cross_entropy(outputs, labels, reduction="none")}


def broken_loss(inputs, outputs, labels):
    raise KeyError("loss")


def no_mapping(inputs, outputs, labels):
    return 3


def corner_lit(batch):
    return batch.input[:, 0, 0, 0] > 0.1


def corner_lit_in_one(element):
    return float(element.input[0, 0, 0]) > 0.1 and element.output.ndim == 1


def steep(batch):
    return batch.metadata["loss.grad"].abs().amax(1) > 0


def broken_property(element):
    return element.nothing


def seeds():
    images, labels = mnist_sample()
    return images[:60], labels[:60]


def one_seed():
    return mnist_sample()[0][:1]


def ragged():
    return [[0.1, 0.2], [0.3]]


def shifted_labels():
    images, labels = mnist_sample()
    return images[:60], (labels[:60] + 1) % 10


def large_labels():
    images, labels = mnist_sample()
    return images[:60], labels[:60] + 10


class Digits(torch.utils.data.Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, i):
        images, labels = mnist_sample()
        return images[i], int(labels[i])


def dataset():
    return Digits()
'''


@pytest.fixture
def jostle() -> Callable[..., Ended]:
    return in_this_process


@pytest.fixture
def process() -> Callable[..., Ended]:
    return as_a_process


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything the tests name; nobody writes there."""
    folder = tmp_path_factory.mktemp("workshop")
    _write_python(folder)
    _write_arrays(folder)
    _write_images(folder)
    _write_models(folder)
    _write_profiles(folder)
    return folder


@pytest.fixture
def in_workshop(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(workshop)
    return workshop


def _write_python(folder: Path) -> None:
    (folder / "models.py").write_text(MODELS)
    (folder / "beside.py").write_text("from jostle.zoo import lenet5\n")
    (folder / "syntax.py").write_text("def (\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit('usage: leaves.py FILE')\n")
    (folder / "note.txt").write_text("a note\n")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "precious.txt").write_text("not yours\n")
    (folder / "other").mkdir()
    (folder / "other" / "config.json").write_text("[1, 2]\n")


def _write_arrays(folder: Path) -> None:
    images, labels = mnist_sample()
    x, y = images[:60].numpy(), labels[:60].numpy()
    np.save(folder / "ok.npy", x)
    np.savez(folder / "ok.npz", x=x, y=y)
    np.savez(folder / "few.npz", x=x[:10], y=y[:10])
    np.savez(folder / "beyond.npz", x=x, y=y + 10)
    np.save(folder / "swapped.npy", x.astype(">f4"))
    np.save(folder / "bytes.npy", (x * 255).astype(np.uint8))
    np.save(folder / "signed.npy", x * 2 - 1)
    np.save(folder / "cropped.npy", x[:, :, :20, :20])
    np.save(folder / "channels_last.npy", x.transpose(0, 2, 3, 1))
    np.savez(folder / "volumes.npz", x=np.stack([x * light for light in (0.2, 0.6, 1, 0.6, 0.2)], 2), y=y)
    np.save(folder / "vectors.npy", x.reshape(60, 784)[:, 300:320])
    np.save(folder / "late_nan.npy", np.where(np.arange(60)[:, None, None, None] == 50, np.nan, x))
    np.save(folder / "words.npy", np.array(["one", "two"]))
    np.save(folder / "complex.npy", x.astype(np.complex64))
    np.save(folder / "objects.npy", np.array([{"a": 1}, [2]], dtype=object))
    np.save(folder / "none.npy", x[:0])
    np.save(folder / "flat.npy", np.arange(5.0))
    np.save(folder / "nan.npy", np.where(np.arange(60)[:, None, None, None] == 7, np.nan, x))
    np.savez(folder / "unnamed.npz", pixels=x)
    np.savez(folder / "fractions.npz", x=x, y=y.astype(np.float32) + 0.5)
    whole = (folder / "ok.npz").read_bytes()
    (folder / "truncated.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "garbage.npy").write_bytes(b"hello")


def _write_images(folder: Path) -> None:
    images, labels = mnist_sample()
    pixels = (images * 255).round().to(torch.uint8)
    for i, label in enumerate(labels[:30].tolist()):
        place = folder / "digits" / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[i, 0].numpy()).save(place / f"{i}.png")
    for name in ("empty", "mixed", "corrupt"):
        (folder / name).mkdir()
    Image.new("L", (28, 28)).save(folder / "mixed" / "a.png")
    Image.new("L", (30, 20), 9).save(folder / "mixed" / "b.png")
    (folder / "late").mkdir()
    for i in range(8):
        Image.fromarray(pixels[i, 0].numpy()).save(folder / "late" / f"a{i}.png")
    Image.new("L", (30, 20), 9).save(folder / "late" / "b.png")  # after all that are of the model's size
    whole = (folder / "digits" / "0" / "0.png").read_bytes()
    (folder / "corrupt" / "cut.png").write_bytes(whole[: len(whole) // 2])


class Canary:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return os.mkdir, ("canary-fired",)


def _write_models(folder: Path) -> None:
    (folder / "canary.pt").write_bytes(pickle.dumps(Canary()))
    torch.save(lenet5(), folder / "pickled.pt")
    torch.save(lenet5().state_dict(), folder / "weights.pth")
    some = mnist_sample()[0][:16]
    rows = torch.export.Dim("rows", min=1, max=4096)
    torch.export.save(torch.export.export(lenet5(), (some,), dynamic_shapes=({0: rows},)), folder / "dynamic.pt2")
    torch.export.save(torch.export.export(lenet5(), (some,)), folder / "static.pt2")
    whole = (folder / "dynamic.pt2").read_bytes()
    (folder / "truncated.pt2").write_bytes(whole[: len(whole) // 2])


def _write_profiles(folder: Path) -> None:
    images, _ = mnist_sample()
    for name, model, layers in (
        ("lenet5", lenet5(), ()),
        ("lenet1", lenet1(), ()),
        ("fc1", lenet5(), ("fc1",)),
    ):
        meter = CoverageMeter(model, ["kmnc"], layers=layers)
        taken = meter.take_profile([images[:60]])
        (folder / f"{name}.safetensors").write_bytes(encode_profile(taken, meter.belongs_to))
    whole = (folder / "lenet5.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (folder / "garbage.safetensors").write_bytes(b"hello")
    safetensors.torch.save_file({"low": torch.zeros(3)}, folder / "tensors.safetensors")

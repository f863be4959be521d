"""The networks and images for CIFAR-10 are what they say, and data that are not CIFAR-10 are refused in one line."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from jostle.errors import SeedsRefused
from jostle.zoo import cifar10, cifar10_images, cifar10_sample, resnet20, vgg8
from jostle.zoo.resnet import Stage

ROWS = 3  # images of a sheet that the tests make
STATED: dict[Stage, float] = {"A": 0.615, "B": 0.795, "C": 0.895}
STATED_OF_VGG = 0.84
DATA = Path(cifar10_images.__file__).parent / "data"
Contents = dict[str, bytes]
Builder = Callable[[], nn.Module]
every_network = pytest.mark.parametrize("build", [resnet20, vgg8])


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> Contents:
    """Files as in the package, but of three images a sheet, whose digests count as right."""
    rng = np.random.default_rng(0)
    made: Contents = {}
    for name in cifar10_images.DIGESTS:
        if name.endswith(".png"):
            made[name] = png(rng.integers(0, 256, (ROWS, 1024, 3), np.uint8))
        else:
            made[name] = json.dumps([5] * (ROWS * (5 if name.startswith("train") else 1))).encode()
    monkeypatch.setattr(cifar10_images, "IMAGES_PER_SHEET", ROWS)
    monkeypatch.setattr(cifar10_images, "DIGESTS", {name: hashlib.sha256(made[name]).hexdigest() for name in made})
    return made


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def unpack(contents: Contents, folder: Path) -> Path:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def pack(contents: Contents, folder: Path) -> Path:
    with tarfile.open(folder / cifar10_images.PACKED, "w:gz") as tar:
        for name, content in reversed(contents.items()):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return folder


@pytest.mark.parametrize("store", [pack, unpack])
def test_a_row_of_a_sheet_is_an_image_with_its_channels_first(
    contents: Contents, tmp_path: Path, store: Callable[[Contents, Path], Path]
) -> None:
    data = cifar10(store(contents, tmp_path))
    assert (data.training.shape, data.training.dtype) == ((5 * ROWS, 3, 32, 32), torch.uint8)
    assert data.training_labels.tolist() == [5] * 5 * ROWS
    rows = np.asarray(Image.open(io.BytesIO(contents["test_batch.png"])))
    assert data.test[1, 2, 3, 4] == rows[1, 3 * 32 + 4, 2]
    assert data.test_labels.tolist() == [5] * ROWS


def test_without_the_data_the_command_that_gets_them_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeedsRefused, match=r"data_batch_1.png is missing\): get it by `make cifar10`") as refused:
        cifar10(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("store", [pack, unpack])
def test_a_file_with_another_digest_is_refused(
    contents: Contents, tmp_path: Path, store: Callable[[Contents, Path], Path]
) -> None:
    other = {**contents, "data_batch_3.png": contents["data_batch_2.png"]}
    with pytest.raises(SeedsRefused, match=r"data_batch_3.png has the SHA-256 .* remove it and get it by"):
        cifar10(store(other, tmp_path))


def test_a_sheet_of_another_size_is_refused(
    contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cifar10_images, "IMAGES_PER_SHEET", ROWS + 1)
    with pytest.raises(SeedsRefused, match=r"data_batch_1.png has the shape \[3, 1024, 3\]"):
        cifar10(unpack(contents, tmp_path))


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
def test_a_package_cut_short_is_refused(contents: Contents, tmp_path: Path, keep: float) -> None:
    package = pack(contents, tmp_path) / cifar10_images.PACKED
    whole = package.read_bytes()
    package.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(SeedsRefused, match=r"remove it and get it by `make cifar10`"):
        cifar10(tmp_path)


def test_a_package_without_one_of_its_files_is_refused(contents: Contents, tmp_path: Path) -> None:
    del contents["test_lables.json"]
    with pytest.raises(SeedsRefused, match=r"holds no test_lables.json"):
        cifar10(pack(contents, tmp_path))


def test_the_sample_is_200_different_images_whose_classes_take_turns() -> None:
    images, labels = cifar10_sample()
    assert (images.shape, images.dtype) == ((200, 3, 32, 32), torch.float32)
    assert (images.min().item(), images.max().item()) == (0.0, 1.0)
    assert torch.equal(labels, torch.arange(200) % 10)
    assert len(images.flatten(1).unique(dim=0)) == 200


@pytest.mark.parametrize(("stage", "stated"), STATED.items())
def test_resnet20_reaches_its_stated_accuracy_on_the_sample(stage: Stage, stated: float) -> None:
    assert accuracy(resnet20(stage)) >= stated


def test_the_vgg_reaches_its_stated_accuracy_on_the_sample() -> None:
    assert accuracy(vgg8()) >= STATED_OF_VGG


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    images, labels = cifar10_sample()
    return (model(images).argmax(1) == labels).double().mean().item()


@every_network
def test_they_come_in_eval_mode_as_float32_and_leave_the_global_random_state_alone(build: Builder) -> None:
    before = torch.get_rng_state()
    model = build()
    assert torch.equal(torch.get_rng_state(), before)
    assert not any(module.training for module in model.modules())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@every_network
def test_layers_run_in_the_order_of_their_names(build: Builder) -> None:
    model, ran = build(), []
    leaves = [name for name, layer in model.named_modules() if not list(layer.children())]
    for name in leaves:
        model.get_submodule(name).register_forward_hook(lambda *_, name=name: ran.append(name))
    model(torch.zeros(1, 3, 32, 32))
    assert ran == leaves


def test_what_ships_is_small() -> None:
    """ResNet-20 below 2 MB, all of its stages below 2.3 MB, and the images below 600 kB."""
    sizes = {path.name: path.stat().st_size for path in DATA.iterdir()}
    assert sizes["resnet20_c.safetensors"] < 2_000_000
    assert sum(size for name, size in sizes.items() if name.startswith("resnet20")) < 2_300_000
    assert sizes["vgg8.safetensors"] < 2_000_000
    assert sizes["cifar10_sample.npz"] < 600_000

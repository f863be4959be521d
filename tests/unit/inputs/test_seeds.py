"""Seeds from a folder of images, arrays, Python functions and datasets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from jostle.errors import UsageError
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.records import NO_LABEL, Seeds


def load(spec: object, **form: object) -> Seeds:
    return load_seeds(str(spec), SeedForm(**form))  # type: ignore[arg-type]


def paint(path: Path, value: object, size: tuple[int, int] = (4, 3), mode: str = "L") -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    Image.new(mode, size, value).save(path)


def test_grey_images_become_one_channel_between_0_and_1(tmp_path: Path) -> None:
    paint(tmp_path / "b.png", 255)
    paint(tmp_path / "a.png", 0)
    seeds = load(tmp_path)
    assert seeds.inputs.shape == (2, 1, 3, 4) and seeds.inputs.dtype == torch.float32
    assert seeds.names == ("a.png", "b.png")
    assert seeds.inputs.amax((1, 2, 3)).tolist() == [0.0, 1.0]
    assert seeds.labels.tolist() == [NO_LABEL] * 2


def test_one_colour_image_makes_all_of_them_colour(tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 51)
    paint(tmp_path / "b.png", (255, 0, 51), mode="RGB")
    seeds = load(tmp_path)
    assert seeds.inputs[:, :, 0, 0].tolist() == [pytest.approx([0.2, 0.2, 0.2]), pytest.approx([1.0, 0.0, 0.2])]


def test_channels_range_and_size_are_as_asked_for(tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 255, size=(4, 3))
    paint(tmp_path / "b.bmp", (0, 0, 0), size=(9, 9), mode="RGB")
    seeds = load(tmp_path, low=-1, high=3, channels=1, size=(5, 6))
    assert seeds.inputs.shape == (2, 1, 5, 6)
    assert seeds.inputs[:, 0, 0, 0].tolist() == [3.0, -1.0]


def test_images_of_several_sizes_are_refused_unless_a_size_is_given(tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 0, size=(4, 3))
    paint(tmp_path / "b.png", 0, size=(5, 3))
    with pytest.raises(UsageError, match=r"a.png is 3×4, b.png is 3×5; give --size"):
        load(tmp_path)


def test_a_single_image_is_a_seed(tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 0)
    paint(tmp_path / "b.png", 255)
    assert load(tmp_path / "b.png").names == ("b.png",)


@pytest.mark.parametrize(
    ("folders", "labels"), [(["cat", "dog", "eel"], [0, 1, 2]), (["2", "10", "7"], [10, 2, 7]), (["3"], [3])]
)
def test_a_subfolder_per_class_gives_labels(folders: list[str], labels: list[int], tmp_path: Path) -> None:
    for folder in folders:
        paint(tmp_path / folder / "a.png", 0)
    assert load(tmp_path).labels.tolist() == labels


def test_images_beside_subfolders_have_no_labels(tmp_path: Path) -> None:
    paint(tmp_path / "0" / "a.png", 0)
    paint(tmp_path / "b.png", 0)
    assert load(tmp_path).labels.tolist() == [NO_LABEL] * 2


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_corrupt_image_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 0)
    (tmp_path / "bad.png").write_bytes(content)
    with pytest.raises(UsageError, match=r"bad.png is not a readable image: remove or replace it"):
        load(tmp_path)


def test_a_cut_off_image_is_refused(tmp_path: Path) -> None:
    paint(tmp_path / "a.png", 0, size=(200, 200))
    content = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match="not a readable image"):
        load(tmp_path)


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(UsageError, match="holds no images"):
        load(tmp_path)


def test_an_array_file_is_seeds_without_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float64).reshape(3, 2))
    seeds = load(tmp_path / "x.npy")
    assert seeds.inputs.tolist() == [[0, 1], [2, 3], [4, 5]] and seeds.inputs.dtype == torch.float32
    assert seeds.labels.tolist() == [NO_LABEL] * 3


@pytest.mark.parametrize("names", [("x", "y"), ("images", "labels"), ("arr_0", "arr_1")])
def test_an_archive_of_arrays_may_hold_labels(names: tuple[str, str], tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", **dict(zip(names, (np.ones((2, 3)), np.array([4, 5])), strict=True)))
    assert load(tmp_path / "s.npz").labels.tolist() == [4, 5]


BAD_ARRAYS = {
    "Python objects": np.array([[{}, 1]], dtype=object),
    "text": np.array([["a", "b"]]),
    "complex numbers": np.ones((2, 2), dtype=complex),
    "dates": np.array([["2020-01-01"]], dtype="datetime64[D]"),
    "no rows": np.zeros((0, 3)),
    "no dimension beside the rows": np.zeros(3),
    "a single number": np.array(1.0),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_arrays_that_are_no_rows_of_numbers_are_refused(kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", BAD_ARRAYS[kind], allow_pickle=True)
    with pytest.raises(UsageError, match=r"x\.npy") as refused:
        load(tmp_path / "x.npy")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("labels", [np.array([1]), np.array(3), np.array(["a", "b"])])
def test_labels_that_are_not_numbers_for_each_seed_are_refused(labels: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.ones((2, 3)), y=labels)
    with pytest.raises(UsageError, match="not one row of numbers for each of 2 seeds"):
        load(tmp_path / "s.npz")


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (np.array([1.5, 2.0]), torch.tensor([1.5, 2.0])),
        (np.array([[1], [2]]), torch.tensor([1, 2])),
        (np.array([[True, False], [False, False]]), torch.tensor([[1, 0], [0, 0]])),
        (np.zeros((2, 4, 4), np.uint8), torch.zeros(2, 4, 4).long()),
        (np.zeros((2, 1, 4, 4), np.uint8), torch.zeros(2, 4, 4).long()),
        (np.zeros((2, 1, 5), np.float32), torch.zeros(2, 1, 5)),
    ],
)
def test_labels_of_any_task_are_kept(labels: np.ndarray, kept: torch.Tensor, tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.ones((2, 3)), y=labels)
    loaded = load(tmp_path / "s.npz").labels
    assert loaded.dtype == kept.dtype and torch.equal(loaded, kept)


def test_a_label_that_is_no_number_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.ones((2, 3)), y=np.array([1.0, np.nan]))
    with pytest.raises(UsageError, match="a label is NaN or infinite: remove that seed"):
        load(tmp_path / "s.npz")


@pytest.mark.parametrize("name", ["s.npy", "s.npz"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04" + bytes(50), b"\x93NUMPY\x01\x00\x10\x00abc"])
def test_a_file_that_is_no_array_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match="not a readable array"):
        load(tmp_path / name)


def test_an_archive_without_inputs_is_refused_naming_what_it_holds(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", pictures=np.ones((2, 3)))
    with pytest.raises(UsageError, match=r"no array named x .found pictures"):
        load(tmp_path / "s.npz")


SOURCE = """
import numpy as np, torch
from torch.utils.data import Dataset, TensorDataset

def tensor(): return torch.ones(3, 2)
def array(): return np.ones((3, 2))
def pair(): return torch.ones(3, 2), [7, 8, 9]
ready = torch.ones(3, 2, requires_grad=True)
dataset = TensorDataset(torch.ones(3, 2), torch.tensor([7, 8, 9]))
class Plain(Dataset):
    def __len__(self): return 3
    def __getitem__(self, i): return np.ones(2)
def broken(): raise RuntimeError("no disk")
def ragged(): return [[1, 2], [3]]
class Failing(Plain):
    def __getitem__(self, i): raise RuntimeError("no disk")
number = 5
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "data.py").write_text(SOURCE)
    return tmp_path / "data.py"


@pytest.mark.parametrize("name", ["tensor", "array", "ready", "Plain"])
def test_a_function_a_tensor_and_a_dataset_give_seeds(name: str, source: Path) -> None:
    seeds = load(f"{source}:{name}")
    assert torch.equal(seeds.inputs, torch.ones(3, 2)) and not seeds.inputs.requires_grad
    assert seeds.labels.tolist() == [NO_LABEL] * 3


@pytest.mark.parametrize("name", ["pair", "dataset"])
def test_pairs_give_labels(name: str, source: Path) -> None:
    seeds = load(f"{source}:{name}")
    assert torch.equal(seeds.inputs, torch.ones(3, 2)) and seeds.labels.tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("broken", "no disk"),
        ("Failing", "no disk"),
        ("ragged", "data.py:ragged"),
        ("number", "number"),
        ("nobody", "no 'nobody'"),
    ],
)
def test_a_function_that_gives_no_seeds_is_refused_with_the_cause(name: str, cause: str, source: Path) -> None:
    with pytest.raises(UsageError, match=cause):
        load(f"{source}:{name}")


def test_what_does_not_exist_or_is_no_format_we_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not exist"):
        load(tmp_path / "nowhere")
    (tmp_path / "seeds.odt").write_text("1,2")
    with pytest.raises(UsageError, match="give a folder of images"):
        load(tmp_path / "seeds.odt")


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_images_of_more_than_8_bits_are_refused_rather_than_clipped(mode: str, tmp_path: Path) -> None:
    Image.new(mode, (4, 3), 1000).save(tmp_path / "deep.tiff")
    with pytest.raises(UsageError, match="more than 8 bits"):
        load(tmp_path)


def test_arrays_with_channels_last_are_turned_for_a_model_that_takes_them_so(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((5, 8, 6, 3), dtype=np.float32)
    np.save(tmp_path / "last.npy", images)
    turned = load(tmp_path / "last.npy", channels_last=True).inputs
    assert turned.shape == (5, 3, 8, 6) and np.array_equal(turned.movedim(1, -1).numpy(), images)
    assert load(tmp_path / "last.npy").inputs.shape == images.shape
    np.save(tmp_path / "first.npy", images.transpose(0, 3, 1, 2))
    assert np.array_equal(load(tmp_path / "first.npy", channels_last=True).inputs.numpy(), turned.numpy())

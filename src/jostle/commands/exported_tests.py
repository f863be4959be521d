"""Tests of a campaign as files: arrays, images by class, or tensors with a script that loads them; no pickle."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from PIL import Image
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.array_files import MADE_BY_EXPORT, has_mark
from jostle.inputs.distances import LEVELS, are_image_files
from jostle.records import NO_LABEL
from jostle.untrusted.files import opened_plain

OF_SAVEZ = ("file", "allow_pickle")  # arguments of np.savez, which no array can be called
TENSORS, SCRIPT, INDEX = "tests.safetensors", "dataset.py", "tests.csv"
DATASET = '''"""Tests of a neural network, as a torch dataset of inputs and labels: `from dataset import tests`."""

from pathlib import Path

from safetensors.torch import load_file
from torch.utils.data import TensorDataset

ARRAYS = load_file(Path(__file__).with_name("{tensors}"))  # {names}
tests = TensorDataset({given}, ARRAYS["labels"])

if __name__ == "__main__":
    print(len(tests), "tests of shapes", *(list(part.shape) for part in tests[0]))
'''


@dataclass(frozen=True)
class ExportedTests:
    """Tests to be written; row i of everything belongs to test i."""

    inputs: Mapping[str, Tensor]  # [tests, ...] by name; the only one is called inputs
    labels: Tensor  # [tests] classes of the seeds they are made of, NO_LABEL where unknown
    facts: Mapping[str, Tensor]  # [tests] by name, what else is known of them
    kinds: tuple[str, ...]  # [tests] of what they violate; none if that is nothing
    bounds: tuple[float, float] | None  # black and white, where inputs may be images

    def __post_init__(self) -> None:
        taken = sorted(self.inputs.keys() & {"labels", "kinds", MADE_BY_EXPORT, *OF_SAVEZ, *self.facts})
        if taken:
            raise UsageError(f"an input of the model is called {taken[0]}, as what is told of tests: rename the input")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def numbers(self) -> dict[str, Tensor]:
        return {**self.inputs, "labels": self.labels, **self.facts}


@dataclass(frozen=True)
class TestFormat:
    """How tests are written: the contents of files by their places in a folder, or of one file."""

    contents: Callable[[ExportedTests], Mapping[str, bytes]]
    suffix: str = ""  # of the one file; none of a folder

    @property
    def is_folder(self) -> bool:
        return not self.suffix


def is_exported(path: Path) -> bool:
    """Whether a file is an export, or all files in a folder are those of one."""
    return _holds_only_exported(path) if path.is_dir() else has_mark(path, MADE_BY_EXPORT)


def _holds_only_exported(folder: Path) -> bool:
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if INDEX not in there:
        return there == {TENSORS, SCRIPT}
    try:
        with TextIOWrapper(opened_plain(folder / INDEX), newline="", encoding="utf-8") as file:
            listed = {row["file"] for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError, csv.Error):
        return False
    return there == {INDEX, *listed}


def _npz(tests: ExportedTests) -> dict[str, bytes]:
    """One file of arrays, which `jostle fuzz --seeds` reads too."""
    arrays: dict[str, Any] = {MADE_BY_EXPORT: np.array(1)}
    arrays |= {name: values.numpy() for name, values in tests.numbers.items()}
    if tests.kinds:
        arrays["kinds"] = np.array(tests.kinds)
    content = BytesIO()
    np.savez(content, **arrays)
    return {"": content.getvalue()}


def _torch_dataset(tests: ExportedTests) -> dict[str, bytes]:
    """Tensors, and a script that makes a dataset of them."""
    arrays = {name: values.clone().contiguous() for name, values in tests.numbers.items()}
    given = ", ".join(f"ARRAYS[{name!r}]" for name in tests.inputs)
    names = ", ".join(map(repr, arrays))  # a name is a stranger's, and must not end the comment that it stands in
    script = DATASET.format(tensors=TENSORS, names=names, given=given)
    return {TENSORS: safetensors.torch.save(arrays), SCRIPT: script.encode()}


def _images(tests: ExportedTests) -> dict[str, bytes]:
    """A PNG for each test in a folder of its class, and a table of all; without labels, all in one folder."""
    pixels = _pixels(tests)
    known = tests.labels != NO_LABEL
    if known.any() and not known.all():
        raise UsageError(f"{int((~known).sum()):,} of {len(tests):,} tests have no label to be filed by: use --as npz")
    width = len(str(len(tests) - 1))
    folders = [f"{label}/" if label != NO_LABEL else "" for label in tests.labels.tolist()]
    names = [f"{folder}{row:0{width}}.png" for row, folder in enumerate(folders)]
    files = {name: _png(image) for name, image in zip(names, pixels, strict=True)}
    return {**files, INDEX: _index(tests, names)}


def _pixels(tests: ExportedTests) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """[tests, channels, height, width] levels, which read back give the very inputs."""
    inputs = tests.inputs.get("inputs")
    if inputs is None or inputs.ndim != 4 or inputs.shape[1] not in (1, 3) or tests.bounds is None:
        raise UsageError("the campaign's inputs are no images of one or three channels: use --as npz")
    low, high = tests.bounds
    if not are_image_files(inputs, low, high):
        raise UsageError(
            "tests have values between the 256 levels of an image file, which would change them: use --as npz, or run "
            "jostle fuzz with --as-images"
        )
    levels = ((inputs.float() - low) / (high - low) * LEVELS).round()
    return levels.to(torch.uint8).numpy()


def _png(image: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    content = BytesIO()
    grey = len(image) == 1
    Image.fromarray(image[0] if grey else np.ascontiguousarray(image.transpose(1, 2, 0))).save(content, "png")
    return content.getvalue()


def _index(tests: ExportedTests, names: list[str]) -> bytes:
    columns = {name: values.tolist() for name, values in (("labels", tests.labels), *tests.facts.items())}
    if tests.kinds:
        columns["kinds"] = list(tests.kinds)
    content = StringIO()
    table = csv.writer(content, lineterminator="\n")
    table.writerow(["file", *columns])
    table.writerows(zip(names, *columns.values(), strict=True))
    return content.getvalue().encode()


TEST_FORMATS: Mapping[str, TestFormat] = {
    "npz": TestFormat(_npz, ".npz"),
    "images": TestFormat(_images),
    "torch-dataset": TestFormat(_torch_dataset),
}

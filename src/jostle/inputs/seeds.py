"""Seeds from folders of images or texts, `.txt`, `.npy` and `.npz` files, tables, Python functions and datasets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.held import shown_name
from jostle.inputs.array_files import MADE_BY_CMIN, MADE_BY_EXPORT, arrays_in
from jostle.inputs.domains import declared_orders
from jostle.inputs.image_files import IMAGES, channels_of, image_files, shares_of
from jostle.inputs.labels import as_array, checked_labels, folder_labels
from jostle.inputs.named_arrays import InputWishes, packed_seeds
from jostle.inputs.table_files import TABLES, seeds_from_table
from jostle.inputs.text import SUFFIX, lines_of, read_text, seeds_of_texts, text_files
from jostle.inputs.tokens import BYTES, UNSAID, TokenForm, tokens_of
from jostle.inputs.wave_files import AS_THEY_ARE, WaveForm, wave_files, waves_of, with_rate
from jostle.named_objects import find_object, names_object
from jostle.records import Seeds

ALONE = ("x", "inputs", "images", "data", "arr_0")  # what the only input may be called
LABELS = ("labels", "y")  # the first that is there; what is called y beside labels is an input
TOLD_OF_TESTS = {MADE_BY_EXPORT, "answers", "roots", "steps", "confirmed", "kinds"}  # beside inputs and labels
UNNAMED = {"arr_0", "arr_1"}  # as np.savez calls what it is given without names: inputs and labels
TOKEN_DIMENSIONS = 2  # seeds, length
IMAGE_DIMENSIONS = 4  # seeds and three of each
COLOURS = (1, 3, 4)  # channels of images
FIX = "give a folder of images, .wav or .txt files, a .txt, .npy, .npz, .csv or .parquet file, or FILE.py:function"


@dataclass(frozen=True)
class SeedForm:
    """What a user says of seeds: how files are read, what in them are labels, and what kind of data they are."""

    low: float = 0.0  # of the values of images
    high: float = 1.0
    channels: int | None = None  # 1 or 3; None is grey if all are grey, else colour
    size: tuple[int, int] | None = None  # height, width
    label: str | None = None  # the column of a table that holds the labels
    domain: str | None = None  # a file that orders the categories of a table
    inputs: tuple[str, ...] = ()  # of several, what is changed and how, as NAME=MUTATOR
    waves: WaveForm = AS_THEY_ARE
    tokens: TokenForm = UNSAID
    texts: bool = False  # a tokenizer makes tokens of texts
    channels_last: bool = False  # the model takes images so, and arrays may hold them so


def load_seeds(spec: str, form: SeedForm) -> Seeds:
    """The seeds behind a path or `FILE.py:function`."""
    path = Path(spec)
    texts = not names_object(spec) and _are_texts(path)
    if texts or (form.texts and path.exists()):
        return _seeds_from_texts(path, texts, form)
    images = not names_object(spec) and (path.is_dir() or path.suffix.lower() in IMAGES)
    if (path.is_file() or names_object(spec)) and not images:
        _refuse_image_form(form)
    if names_object(spec) or path.suffix not in TABLES:
        _refuse_label(form)
    if names_object(spec):
        return _seeds_from_object(spec, form)
    if not path.exists():
        raise SeedsRefused(f"seeds {spec} do not exist: {FIX}")
    if sounds := _wave_files(path):
        return _seeds_from_waves(path if path.is_dir() else path.parent, sounds, form)
    if path.is_dir():
        return _seeds_from_images(path, image_files(path), form)
    if path.suffix.lower() in IMAGES:
        return _seeds_from_images(path.parent, [path], form)
    if path.suffix in (".npy", ".npz"):
        return _seeds_from_arrays(path, form)
    if path.suffix in TABLES:
        return seeds_from_table(path, form.label, declared_orders(form.domain))
    raise SeedsRefused(f"seeds {spec}: {FIX}")


def names_image_files(spec: str) -> bool:
    """Whether seeds are image files, which are read as many channels and as large as is asked for."""
    path = Path(spec)
    if names_object(spec) or _are_texts(path) or _wave_files(path):
        return False
    return path.is_dir() or path.suffix.lower() in IMAGES


def _refuse_label(form: SeedForm) -> None:
    if form.label is not None:
        raise SeedsRefused("--label names a column of a .csv or .parquet file: leave it out for other seeds")


def _wave_files(path: Path) -> list[Path]:
    """The .wav files that are meant; of a folder that holds some beside images, the images are."""
    found = wave_files(path)
    images = path.is_dir() and found and any(file.suffix.lower() in IMAGES for file in path.rglob("*"))
    return [] if images else found


def _seeds_from_waves(folder: Path, files: list[Path], form: SeedForm) -> Seeds:
    _refuse_image_form(form)
    waves, domain = waves_of(files, form.waves)
    names = tuple(str(file.relative_to(folder)) for file in files)
    return Seeds(waves, folder_labels(folder, files), names, domain)


def _are_texts(path: Path) -> bool:
    """Whether these are text files; of a folder that holds some beside images, the images are meant."""
    if path.is_dir():
        return bool(text_files(path)) and not any(file.suffix.lower() in IMAGES for file in path.rglob("*"))
    return path.is_file() and path.suffix.lower() == SUFFIX


def _seeds_from_texts(path: Path, texts: bool, form: SeedForm) -> Seeds:
    _refuse_image_form(form)
    if not texts:
        raise SeedsRefused(f"--tokenizer is for texts, and seeds {path} are none: leave it out, or give .txt files")
    _check_tokenizer(str(path), form)
    if path.is_file():
        lines, names = lines_of(path)
        return seeds_of_texts(lines, checked_labels(str(path), None, len(lines)), names)
    files = text_files(path)
    names = tuple(str(file.relative_to(path)) for file in files)
    return seeds_of_texts([read_text(file) for file in files], folder_labels(path, files), names)


def _check_tokenizer(source: str, form: SeedForm) -> None:
    if not form.texts:
        raise SeedsRefused(
            f"seeds {source} are texts: name what makes tokens of them with --tokenizer: a tokenizer.json, "
            f"FILE.py:function of a text, or bytes"
        )


def _refuse_image_form(form: SeedForm) -> None:
    if form.channels or form.size:
        raise SeedsRefused("--channels and --size are for image files: leave them out for arrays")


@dataclass(frozen=True)
class Stream:
    """Data that need not fit into memory, part by part."""

    count: int  # of all inputs
    parts: Iterator[Seeds]


def stream_seeds(spec: str, form: SeedForm, size: int) -> Stream:
    """As `load_seeds`, in parts of this size; images and .npy files are read as their turn comes."""
    path = Path(spec)
    if path.is_dir() and not _wave_files(path) and not _are_texts(path):
        files = image_files(path)
        form = replace(form, channels=form.channels or channels_of(files))
        return Stream(len(files), (_seeds_from_images(path, some, form) for some in _parts(files, size)))
    if path.is_file() and path.suffix == ".npy":
        _refuse_image_form(form)
        array = arrays_in(path)["x"]
        _one_alone(str(path), form, array[:1] if array.ndim else array, None)
        return Stream(len(array), (_one_alone(str(path), form, some, None) for some in _parts(array, size)))
    seeds = load_seeds(spec, form)
    rows = torch.arange(len(seeds)).split(size)
    parts = (
        replace(
            seeds,
            inputs=seeds.inputs[some],
            labels=seeds.labels[some],
            names=tuple(seeds.names[i] for i in some.tolist()),
        )
        for some in rows
    )
    return Stream(len(seeds), parts)


def _parts(items: Any, size: int) -> Iterator[Any]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _seeds_from_images(folder: Path, files: list[Path], form: SeedForm) -> Seeds:
    if math.isinf(form.high):
        raise SeedsRefused("image files are scaled into --range: give its ends, such as --range 0,1")
    pixels = shares_of(files, form.channels, form.size) * (form.high - form.low) + form.low
    return Seeds(pixels, folder_labels(folder, files), tuple(str(file.relative_to(folder)) for file in files))


def _seeds_from_arrays(path: Path, form: SeedForm) -> Seeds:
    found = arrays_in(path)
    told = TOLD_OF_TESTS if MADE_BY_EXPORT in found else (MADE_BY_CMIN,)
    arrays = {name: array for name, array in found.items() if name not in told}
    inputs = next((arrays[name] for name in ALONE if name in arrays), None)
    labels = next((arrays[name] for name in (*LABELS, "arr_1") if name in arrays), None)
    if len(arrays.keys() - _called_labels(arrays)) > 1 and not (arrays.keys() == UNNAMED and arrays["arr_1"].ndim == 1):
        unnamed = all(name.startswith("arr_") for name in arrays)
        return _several(str(path), tuple(arrays.values()) if unnamed else arrays, None, form)
    if inputs is None:
        raise SeedsRefused(
            f"{path} has no array named x (found {', '.join(arrays)}): save it as np.savez(f, x=…, y=…), or, for a "
            f"model of several inputs, with one array for each under its name"
        )
    return _one_alone(str(path), form, inputs, labels)


def _seeds_from_object(spec: str, form: SeedForm) -> Seeds:
    found, spec = find_object(spec), shown_name(spec)
    if not isinstance(found, Dataset | Tensor | np.ndarray | tuple | dict):
        function: Callable[[], object] = found  # type: ignore[assignment]
        found = attempt(lambda: function())
    if isinstance(found, Crash):
        raise SeedsRefused(f"{spec} raised {found.error} in {found.where}: {found.message}")
    if isinstance(found, Dataset):
        pairs = attempt(partial(_gathered, found))
        if isinstance(pairs, Crash):
            raise SeedsRefused(f"the dataset {spec} raised {pairs.error} in {pairs.where}: {pairs.message}")
        found = pairs
    inputs, labels = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    if isinstance(inputs, dict | tuple):
        return _several(spec, inputs, labels, form)
    return _one_alone(spec, form, inputs, labels)


def _one_alone(source: str, form: SeedForm, inputs: object, labels: object) -> Seeds:
    if form.inputs:
        raise SeedsRefused(f"--input chooses among several inputs, and {source} holds one: leave it out")
    return with_rate(_checked(source, inputs, labels, form), form.waves, source)


def _several(source: str, arrays: Mapping[str, object] | tuple[object, ...], labels: object, form: SeedForm) -> Seeds:
    """Seeds of several inputs, by name or in their order; labels may stand among the names."""
    by_name = isinstance(arrays, dict)
    found = dict(arrays) if isinstance(arrays, dict) else {str(place): one for place, one in enumerate(arrays)}
    for name in _called_labels(found) if by_name and labels is None else ():
        labels = found.pop(name)
    held = attempt(lambda: {name: as_array(value) for name, value in found.items()})
    if isinstance(held, Crash) or not held:
        raise SeedsRefused(f"{source} gives no arrays: return a dict of them by the names of the model's parameters")
    wanted = InputWishes(form.inputs, form.low, form.high, form.waves.rate, form.tokens)
    inputs, domain = packed_seeds(source, held, by_name, wanted)
    names = tuple(f"{source}[{row}]" for row in range(len(inputs)))
    return Seeds(inputs, checked_labels(source, labels, len(inputs)), names, domain)


def _called_labels(arrays: Mapping[str, object]) -> set[str]:
    """The name of the array that holds the labels, if there is one."""
    return set([name for name in LABELS if name in arrays][:1])


def _gathered(dataset: Dataset[Any]) -> tuple[Tensor, Tensor | None]:
    items: list[Any] = [dataset[i] for i in range(len(dataset))]  # type: ignore[arg-type]
    if not items:
        raise SeedsRefused("the Dataset is empty: give at least one seed")
    pairs = [
        item if _has_label(item) else (item[0] if isinstance(item, tuple | list) else item, None) for item in items
    ]
    inputs = torch.stack([torch.as_tensor(np.asarray(pair[0])) for pair in pairs])
    if pairs[0][1] is None:
        return inputs, None
    return inputs, torch.stack([torch.as_tensor(np.asarray(pair[1])) for pair in pairs])


def _has_label(item: Any) -> bool:
    """Whether an item of a dataset is more than its input, which may stand alone in a tuple."""
    return isinstance(item, tuple | list) and len(item) > 1


def _checked(source: str, inputs: object, labels: object, form: SeedForm) -> Seeds:
    if isinstance(inputs, list) and inputs and all(isinstance(one, str) for one in inputs):
        _check_tokenizer(source, form)
        return seeds_of_texts(inputs, checked_labels(source, labels, len(inputs)), _numbered(source, len(inputs)))
    if form.texts:
        raise SeedsRefused(
            f"--tokenizer is for texts, and {source} gives none: leave it out, or return a list of texts"
        )
    _refuse_ragged(source, inputs)
    array = attempt(lambda: as_array(inputs))
    if isinstance(array, Crash):
        raise SeedsRefused(f"{source} gives no array ({array.message}): return one [seeds, ...], or it and labels")
    if array.dtype.kind not in "biuf":
        raise SeedsRefused(f"{source} holds {array.dtype} values: seeds must be real numbers, so convert them")
    if array.ndim < 2 or not array.size:
        raise SeedsRefused(f"{source} has shape {list(array.shape)}: give at least one seed, as [seeds, ...]")
    if array.dtype.kind in "iu" and array.ndim == TOKEN_DIMENSIONS and form.waves.rate is None:
        return _token_seeds(source, array, labels, form)
    if form.tokens != UNSAID:
        raise SeedsRefused(
            f"{source} holds {array.dtype} of shape {list(array.shape)}, and --vocabulary, --pad and --special are for "
            f"tokens, whole numbers [seeds, length]: leave them out, or save whole numbers"
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinity, which pre-flight refuses
        values = torch.from_numpy(np.array(array, dtype=np.float32))
    if form.channels_last:
        values = _channels_first(values)
    return Seeds(values, checked_labels(source, labels, len(values)), _numbered(source, len(values)))


def _channels_first(images: Tensor) -> Tensor:
    """Images [seeds, height, width, channels] as [seeds, channels, height, width]; others as they are."""
    if images.ndim != IMAGE_DIMENSIONS or images.shape[-1] not in COLOURS or images.shape[1] in COLOURS:
        return images
    return images.movedim(-1, 1).contiguous()


def _token_seeds(source: str, array: np.ndarray[Any, Any], labels: object, form: SeedForm) -> Seeds:
    """Whole numbers [seeds, length], which stay whole: tokens, or bytes where the array holds such."""
    tokens, names = torch.from_numpy(np.array(array, dtype=np.int64)), _numbered(source, len(array))
    domain = tokens_of(tokens, names, form.tokens, BYTES if array.dtype == np.uint8 else 0)
    return Seeds(tokens, checked_labels(source, labels, len(tokens)), names, domain)


def _numbered(source: str, count: int) -> tuple[str, ...]:
    return tuple(f"{source}[{i}]" for i in range(count))


def _holds_tokens(row: Any) -> bool:
    """Whether these are whole numbers one after another."""
    array = attempt(lambda: as_array(row))
    return not isinstance(array, Crash) and array.ndim == 1 and array.dtype.kind in "iu"


def _refuse_ragged(source: str, inputs: object) -> None:
    """Rows of several lengths, which only padding makes an array of."""
    rows = inputs if isinstance(inputs, list) else []
    whole = [row for row in rows if isinstance(row, list | tuple | np.ndarray | Tensor) and _holds_tokens(row)]
    lengths = {len(row) for row in whole}
    if len(lengths) > 1:
        raise SeedsRefused(
            f"{source} gives rows of {min(lengths)} to {max(lengths)} tokens: fill them up to one length with a token "
            f"that stands for nothing, and name it with --pad"
        )

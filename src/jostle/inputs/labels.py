"""What seeds should be answered: labels of any task, from folders or arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.records import NO_LABEL


def folder_labels(folder: Path, files: list[Path]) -> Tensor:
    """A subfolder per class gives labels: its number if all names are numbers, else its position."""
    classes = [file.relative_to(folder).parts[0] if file.parent != folder else None for file in files]
    if None in classes:
        return torch.full((len(files),), NO_LABEL)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    numbers = {name: int(name) if all(n.isdigit() for n in names) else i for i, name in enumerate(names)}
    return torch.tensor([numbers[name] for name in classes if name is not None])


def checked_labels(source: str, labels: object, count: int) -> Tensor:
    if labels is None:
        return torch.full((count,), NO_LABEL)
    numbers = attempt(lambda: as_array(labels))
    if isinstance(numbers, Crash):
        raise SeedsRefused(f"{source}: labels are no array ({numbers.message}): give one row of them for each seed")
    if numbers.shape[:1] != (count,) or numbers.dtype.kind not in "biuf":
        raise SeedsRefused(
            f"{source}: labels are {numbers.dtype} of shape {list(numbers.shape)}, not one row of numbers for each of "
            f"{count} seeds"
        )
    numbers = numbers[:, 0] if numbers.shape[1:2] == (1,) and numbers.ndim in (2, 4) else numbers  # masks of a channel
    if numbers.dtype.kind == "f":
        return _finite_labels(source, numbers)
    if numbers.ndim == 1 and numbers.min() < NO_LABEL:
        raise SeedsRefused(f"{source} has label {numbers.min()}: number the classes from 0, or {NO_LABEL} for unknown")
    return torch.from_numpy(numbers.astype(np.int64))


def _finite_labels(source: str, numbers: np.ndarray[Any, Any]) -> Tensor:
    if not np.isfinite(numbers).all():
        raise SeedsRefused(f"{source}: a label is NaN or infinite: remove that seed")
    return torch.from_numpy(numbers.astype(np.float32))


def as_array(value: object) -> np.ndarray[Any, Any]:
    """A tensor, or whatever numpy makes an array of, on the CPU."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = value.float() if value.dtype == torch.bfloat16 else value  # which numpy does not know
    return np.asarray(value)

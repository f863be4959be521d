"""Finding the tensors in what foreign code returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jostle.errors import UsageError
from jostle.options.choices import chosen

MOST_PER_INPUT = 128  # things found in one input, such as boxes, where a model gives a list of them for each
PREFERRED = "logits"  # what carries the answer in models that return it among others


def first_tensor(value: object) -> Tensor | None:
    """The tensor itself, a mapping's "logits" or first tensor, or the first tensor of a sequence."""
    if isinstance(value, Tensor):
        return value
    found = named_tensors(value)
    return found.get(answer_among(found)) if found else None


def named_tensors(value: object) -> dict[str, Tensor]:
    """Every tensor of a tuple, list, mapping or dataclass, by the way to it: "", "1", "boxes", "0.scores"."""
    if isinstance(value, Tensor):
        return {"": value}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"": torch.from_numpy(np.ascontiguousarray(value))}
    return {
        f"{name}.{inner}".rstrip("."): tensor
        for name, item in _items(value)
        for inner, tensor in named_tensors(item).items()
    }


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((str(name), item) for name, item in value.items())
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, tuple | list):
        names = getattr(value, "_fields", range(len(value)))  # those of a named tuple
        yield from ((str(name), item) for name, item in zip(names, value, strict=True))


def answer_among(names: Mapping[str, Tensor], wanted: str | None = None) -> str:
    """Which of the tensors carries the answer: the one that is wanted, "logits", or the first."""
    if wanted is not None:
        return _wanted(names, wanted)
    return PREFERRED if PREFERRED in names else next(iter(names))


def _wanted(names: Mapping[str, Tensor], wanted: str) -> str:
    """The tensor that a user names `output.boxes` or `boxes`."""
    if names.keys() == {""}:
        raise UsageError(f"--output {wanted}: the model returns one tensor only: leave it out")
    return chosen("--output", wanted.removeprefix("output."), list(names))


def one_row_each(value: object, rows: int) -> object:
    """Of a list with a mapping for each input, as detectors return, one mapping with a row for each; else the value.

    Inputs with fewer things found than others are filled up with zeros.
    """
    if not _mapping_for_each(value, rows):
        return value
    first, *_ = each = [named_tensors(item) for item in value]  # type: ignore[attr-defined]
    return {name: torch.stack([_filled_up(one[name]) for one in each]) for name in first}


def _mapping_for_each(value: object, rows: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == rows
        and all(isinstance(item, Mapping) and item.keys() == value[0].keys() for item in value)
    )


def _filled_up(found: Tensor) -> Tensor:
    if found.ndim == 0:
        return found
    if len(found) > MOST_PER_INPUT:
        raise ValueError(f"{len(found)} things were found in one input: return at most {MOST_PER_INPUT}")
    missing: Sequence[int] = (0, 0) * (found.ndim - 1) + (0, MOST_PER_INPUT - len(found))
    return functional.pad(found, list(missing))

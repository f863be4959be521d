"""Finding the tensors in what foreign code returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import count

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jostle.errors import UsageError
from jostle.options.choices import chosen
from jostle.task import MOST_FOUND

PREFERRED = "logits"  # what carries the answer in models that return it among others
BOXES, SCORES = "boxes", "scores"  # what a detector returns for each input


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
    return _each_by_a_name(
        (f"{name}.{inner}".rstrip("."), tensor)
        for name, item in _items(value)
        for inner, tensor in named_tensors(item).items()
    )


def _each_by_a_name(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """All of them; a name that comes again is numbered."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors:
        numbered = (f"{name}.{number}" for number in count(2))
        free = name if name not in found else next(one for one in numbered if one not in found)
        found[free] = tensor
    return found


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
    """Of a list with what a detector found in each input, one mapping with a row for each input; else the value.

    The surest things of each input are kept; inputs with fewer are filled up with zeros.
    """
    each = _found_in_each(value, rows)
    if not each:
        return value
    kept = [_surest(found) for found in each]
    return {name: torch.stack([found[name] for found in kept]) for name in kept[0]}


def _found_in_each(value: object, rows: int) -> list[dict[str, Tensor]]:
    """By input what a detector found in it; empty where the value is something else, such as an answer of each head.

    That is told by names and dimensions, so that it does not depend on the size of the batch.
    """
    if not isinstance(value, list) or len(value) != rows or not all(isinstance(item, Mapping) for item in value):
        return []
    each = [named_tensors(item) for item in value]
    return each if all(_of_detector(found) and found.keys() == each[0].keys() for found in each) else []


def _of_detector(found: Mapping[str, Tensor]) -> bool:
    """Whether there are boxes [found, 4] with their scores [found]."""
    if not {BOXES, SCORES} <= found.keys():
        return False
    boxes, scores = found[BOXES], found[SCORES]
    return boxes.ndim == 2 and scores.shape == boxes.shape[:1]


def _surest(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The surest things [MOST_FOUND, ...] of those found in one input."""
    count_found = len(found[SCORES])
    if count_found <= MOST_FOUND:
        return {name: _filled_up(tensor) for name, tensor in found.items()}
    order = found[SCORES].sort(descending=True, stable=True).indices[:MOST_FOUND]
    return {
        name: tensor[order] if tensor.shape[:1] == (count_found,) else _filled_up(tensor)
        for name, tensor in found.items()
    }


def _filled_up(found: Tensor) -> Tensor:
    """The first things [MOST_FOUND, ...], behind them zeros; a single number as it is."""
    if found.ndim == 0:
        return found
    first = found[:MOST_FOUND]
    return functional.pad(first, [*(0, 0) * (first.ndim - 1), 0, MOST_FOUND - len(first)])

"""Seeds of several inputs: arrays by name or in order, packed into rows, and the domain of each read off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.domain import Domain
from jostle.errors import SeedsRefused, UsageError
from jostle.inputs.audio import AUDIO, Audio
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.several import MOVES, MOVES_IMAGES, Several, mask_among
from jostle.inputs.table import Table
from jostle.inputs.tokens import BYTES, TOKENS, UNSAID, TokenForm, tokens_of
from jostle.inputs.value_range import IMAGE, ValueRange
from jostle.layout import WHOLE_UP_TO, Field, Layout
from jostle.options.choices import chosen

Arrays = Mapping[str, np.ndarray[Any, Any]]
TABLE_DIMENSIONS = 2  # seeds, columns
UNSIGNED = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}  # which torch cannot compute with


@dataclass(frozen=True)
class InputWishes:
    """What a user says of several inputs: which are changed and how, as NAME=MUTATOR, and facts of some kinds."""

    inputs: Sequence[str] = ()
    low: float = 0.0  # of images
    high: float = 1.0
    rate: int | None = None  # of waves
    tokens: TokenForm = UNSAID


NOTHING_SAID = InputWishes()


def packed_seeds(
    source: str, arrays: Arrays, by_name: bool = True, wanted: InputWishes = NOTHING_SAID
) -> tuple[Tensor, Several]:
    """Rows [seeds, total] of arrays [seeds, ...], and their domain."""
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) > 1 or not all(counts.values()):
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise SeedsRefused(f"{source}: inputs differ in their number of rows ({told}): give each the same, above 0")
    tensors = {name: _tensor(f"{source}: {name}", array) for name, array in arrays.items()}
    fields = tuple(Field(name, tuple(value.shape[1:]), value.dtype) for name, value in tensors.items())
    layout = Layout(fields, by_name)
    return layout.packed(tensors), _domain(layout, tensors, wanted)


def _tensor(what: str, array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind not in "biuf":
        raise SeedsRefused(f"{what} holds {array.dtype} values: inputs must be real numbers, so convert them")
    if not array.size:
        raise SeedsRefused(f"{what} has shape {list(array.shape)}: give arrays that hold something")
    if array.dtype.kind in "iu" and int(np.abs(array.astype(np.int64)).max()) > WHOLE_UP_TO:
        raise SeedsRefused(
            f"{what} holds whole numbers above {WHOLE_UP_TO}, which are not told apart: number them lower, or save "
            f"them as floats"
        )
    dtype = "float32" if array.dtype.kind == "f" else UNSIGNED.get(array.dtype.name, array.dtype.name)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinity, which pre-flight refuses
        return torch.from_numpy(np.array(array, dtype=dtype))


def _domain(layout: Layout, arrays: Mapping[str, Tensor], said: InputWishes) -> Several:
    masks = {name: mask for name in layout.names if (mask := mask_among(name, arrays)) is not None}
    wanted = _wanted(said.inputs, layout.names)
    for name in wanted:
        if name in masks:
            raise UsageError(f"--input {name}: it follows {masks[name].of}, so name that instead")
    domains = {name: _domain_of(name, values, wanted.get(name), said) for name, values in arrays.items()}
    changed = list(wanted) or [name for name in layout.names if name not in masks and _varies(arrays[name])]
    mutators = {name: wanted.get(name) or domains[name].mutator for name in changed}
    if sum(mutator in MOVES for mutator in mutators.values()) > 1:
        raise UsageError(f"--input: {' or '.join(MOVES)} moves one input only: name another mutator for the others")
    if not mutators:
        raise UsageError("every input is the same in all seeds, so that nothing tells how it may change: give --input")
    return Several(layout, domains, mutators, masks)


def domain_to_replay(layout: Layout, said: InputWishes) -> Several:
    """The domain of rows that only run again: where each input lies, and which image is moved."""
    moved = {name: mutator for name, mutator in _wanted(said.inputs, layout.names).items() if mutator in MOVES_IMAGES}
    return Several(layout, {name: ValueRange(said.low, said.high) for name in layout.names}, moved, {})


def _wanted(inputs: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """By name the mutator that the user gives an input, "" where its domain's own."""
    wanted: dict[str, str] = {}
    for text in inputs:
        name, _, mutator = text.partition("=")
        if chosen("--input", name, names) in wanted:
            raise UsageError(f"--input names {name} twice: name each input once")
        wanted[name] = mutator
    return wanted


def _domain_of(name: str, values: Tensor, mutator: str | None, said: InputWishes) -> Domain:
    """Rows of whole numbers are tokens, of bytes such of 256; other rows are tables; `audio` changes waves."""
    if mutator == TOKENS or (mutator in (None, "") and _are_tokens(values)):
        names = tuple(f"{name}[{row}]" for row in range(len(values)))
        return tokens_of(values.long(), names, said.tokens, BYTES if values.dtype == torch.uint8 else 0)
    if mutator != AUDIO:
        return _range(name, values, said.low, said.high)
    if said.rate is None:
        raise UsageError(f"--input {name}=audio: give the --rate of these waves")
    return Audio(said.rate, tuple(values.shape[1:]))


def _are_tokens(values: Tensor) -> bool:
    return values.ndim == TABLE_DIMENSIONS and values.dtype in (torch.uint8, torch.int32, torch.int64)


def _range(name: str, values: Tensor, low: float, high: float) -> Domain:
    if values.ndim <= TABLE_DIMENSIONS:
        return _table(name, values)
    least, most = float(values.min()), float(values.max())
    if ValueRange.of(values, low, high).kind != IMAGE:
        return ValueRange(least, most)
    if values.dtype == torch.uint8:
        return ValueRange(0, 255, IMAGE)
    if least < low or most > high:
        raise SeedsRefused(
            f"images in {name} hold values from {least:.9g} to {most:.9g}, outside the declared range {low:g} to "
            f"{high:g}: give --range {min(least, 0):.9g},{max(most, 1):.9g} or rescale them"
        )
    return ValueRange(low, high, IMAGE)


def _table(name: str, values: Tensor) -> Table:
    """Single numbers are a column of the input's name, rows of them columns that are numbered."""
    rows = values.reshape(len(values), -1)
    names = [name] if rows.shape[1] == 1 else [f"{name}{place}" for place in range(rows.shape[1])]
    return inferred_table(rows, names)


def _varies(values: Tensor) -> bool:
    return bool((values != values.flatten()[0]).any())

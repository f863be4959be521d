"""How rows of inputs become the arrays that a model file takes: by name, in its types and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from jostle.errors import ModelRefused, PreflightFailed
from jostle.layout import Layout
from jostle.subjects.arguments import Arguments, PackedArguments, Parameters, check_takes_one
from jostle.subjects.array_model import Slot
from jostle.subjects.image_shape import ImageShape
from jostle.subjects.preparation import ChannelsLast
from jostle.subjects.text_arguments import TextArguments
from jostle.subjects.tokenizer import TextEncoder

TOKENS = (np.dtype(np.int64), np.dtype(np.int32))
DTYPES = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
    np.dtype(np.float16): torch.float16,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.int32): torch.int32,
    np.dtype(np.int16): torch.int16,
    np.dtype(np.int8): torch.int8,
    np.dtype(np.uint8): torch.uint8,
    np.dtype(np.bool_): torch.bool,
}


@dataclass(frozen=True)
class InputArrays:
    """The inputs that a model takes, and how rows reach them."""

    slots: tuple[Slot, ...]
    arguments: Arguments | None = None  # where rows are not one array to it

    @staticmethod
    def of_slots(slots: Sequence[Slot]) -> InputArrays:
        """ModelRefused where an input is no batch of numbers."""
        for slot in slots:
            if slot.dtype not in DTYPES:
                raise ModelRefused(f"input {slot} holds no numbers that can be fuzzed: give a model of numbers")
            if not slot.shape:
                raise ModelRefused(
                    f"input {slot} has no batch: give a model whose inputs all have one row per input, or a "
                    f"FILE.py:function that fills it in"
                )
        return InputArrays(tuple(slots))

    @property
    def parameters(self) -> Parameters:
        names = tuple(slot.name for slot in self.slots)
        return Parameters(named=names, required=frozenset(names))

    def taking(self, layout: Layout | None) -> InputArrays:
        if layout is not None:
            return replace(self, arguments=PackedArguments.fitting(layout, self.parameters))
        if self.arguments is None:
            check_takes_one(self.parameters)
        return self

    def channels_last(self) -> InputArrays:
        return replace(self, arguments=ChannelsLast())

    def reading(self, encoder: TextEncoder) -> InputArrays:
        return replace(self, arguments=TextArguments.fitting(encoder, self.parameters))

    def seen(self, rows: Tensor) -> object:
        """What a user's own function is given for such rows."""
        return rows if self.arguments is None else self.arguments.seen(rows)

    def of(self, rows: Tensor) -> dict[str, Tensor]:
        """The inputs by name for rows [batch, ...]; PreflightFailed where they do not fit."""
        floats = rows.dtype if rows.is_floating_point() else torch.float32
        call = ((rows,), {}) if self.arguments is None else self.arguments.of(rows, floats)
        positional, given = call
        free = [slot.name for slot in self.slots if slot.name not in given]
        values = {**dict(zip(free, positional, strict=False)), **given}
        return {slot.name: self._fitted(slot, values) for slot in self.slots}

    def _fitted(self, slot: Slot, values: dict[str, Tensor]) -> Tensor:
        value = values.get(slot.name)
        if value is None:
            raise PreflightFailed(f"the model takes {slot}, which nothing gives: give an .npz with such an array")
        self._check(slot, value)
        if slot.dtype.kind in "iub" and value.is_floating_point():
            limits = np.iinfo(slot.dtype) if slot.dtype.kind != "b" else None
            value = value.round() if limits is None else value.round().clamp(float(limits.min), float(limits.max))
        return value.to(DTYPES[slot.dtype])

    def _check(self, slot: Slot, value: Tensor) -> None:
        """Rows must have the shape that the input takes, and be tokens where it takes tokens."""
        if slot.dtype.kind == "f" and value.dtype == torch.int64:
            raise PreflightFailed(f"seeds are whole numbers, and the model takes {slot}: save them as floats")
        if slot.dtype in TOKENS and value.is_floating_point() and self.arguments is None:
            raise PreflightFailed(f"seeds are floats, and the model takes {slot}: save them as int64")
        given = tuple(value.shape[1:])
        if not _fits(given, slot.row):
            fix = self._way_out(given, slot.row)
            raise PreflightFailed(f"seeds of shape {list(given)} do not fit what the model takes, {slot}: {fix}")

    def _way_out(self, given: tuple[int, ...], wanted: tuple[int | None, ...]) -> str:
        if len(given) == 3 == len(wanted):
            if self.arguments is None and _fits((*given[1:], given[0]), wanted):
                return "its channels come last, so add --layout nhwc"
            if self.arguments is None and _fits((given[-1], *given[:-1]), wanted):
                return "seeds have their channels last: move them first, x.transpose(0, 3, 1, 2)"
            if isinstance(self.arguments, ChannelsLast) and _fits((given[-1], *given[:-1]), wanted):
                return "its channels come first, so leave out --layout nhwc"
        image = ImageShape.of_row(wanted) if len(given) == 3 else None
        options = {} if image is None else image.options
        if self.arguments is not None:  # a layout is given already
            options.pop("--layout", None)
        fix = " ".join(f"{flag} {value}" for flag, value in options.items())
        return f"give image files with {fix}" if fix else "give seeds of that shape"


def sized(slots: Sequence[Slot], shapes: Mapping[str, tuple[int, ...]]) -> tuple[Slot, ...]:
    """The inputs with sizes that the user gives where the file leaves them open, by name or of the only one by ""."""
    takes = f"the model takes {', '.join(map(str, slots))}"
    for name in shapes.keys() - {slot.name for slot in slots}:
        if name or len(slots) > 1:
            raise ModelRefused(f"--shape {name or 'without a name'}: {takes}")
    found = [(slot, shapes.get(slot.name, shapes.get(""))) for slot in slots]
    for slot, wanted in found:
        if wanted is not None and not _fits(wanted, slot.row):
            raise ModelRefused(f"--shape {'x'.join(map(str, wanted))} does not fit: {takes}")
    return tuple(slot if row is None else replace(slot, shape=(slot.shape[0], *row)) for slot, row in found)


def _fits(given: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(given) == len(wanted) and all(
        size is None or size == own for own, size in zip(given, wanted, strict=True)
    )

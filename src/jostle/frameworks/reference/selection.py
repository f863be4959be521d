"""Formulas of the operators that pick, fill or add up elements by positions, and that go by diagonals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula
from jostle.frameworks.reference.undefined import undefined_where


def masked_fill(call: Call, x: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, call.attributes["value"], x)


def _offered(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Of each place of the last axis, every update, 0 if it names another one: [..., places, updates]."""
    named = indices.unsqueeze(-2) == torch.arange(x.shape[-1]).unsqueeze(-1)
    return torch.where(named, updates.unsqueeze(-2), torch.zeros((), dtype=x.dtype))


def index_add(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    x, updates = x.movedim(call.attributes["axis"], -1), updates.movedim(call.attributes["axis"], -1)
    return (x + _offered(x, indices, updates).sum(-1)).movedim(-1, call.attributes["axis"])


def scatter_mean(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    x, indices, updates = (one.movedim(axis, -1) for one in (x, indices, updates))
    counts = (indices.unsqueeze(-2) == torch.arange(x.shape[-1]).unsqueeze(-1)).sum(-1) + 1
    return ((x + _offered(x, indices, updates).sum(-1)) / counts).movedim(-1, axis)


def _flat_rows(x: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """x with the named axes as one, and where each row of indices lies in it."""
    depth = indices.shape[1]
    places = torch.zeros(indices.shape[0], dtype=torch.int64)
    for axis in range(depth):
        places = places * x.shape[axis] + indices[:, axis]
    return x.reshape((-1, *x.shape[depth:])), places


def gather_nd(x: Tensor, indices: Tensor) -> Tensor:
    rows, places = _flat_rows(x, indices)
    return rows.index_select(0, places)


def scatter_nd_add(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    rows, places = _flat_rows(x, indices)
    rows, updates = rows.movedim(0, -1), updates.movedim(0, -1)
    return (rows + _offered(rows, places, updates).sum(-1)).movedim(-1, 0).reshape(x.shape)


def segment_sum(call: Call, x: Tensor, segments: Tensor) -> Tensor:
    named = segments == torch.arange(call.attributes["segments"]).unsqueeze(1)
    rows = torch.where(named.reshape((*named.shape, *[1] * (x.dim() - 1))), x, torch.zeros((), dtype=x.dtype))
    return rows.sum(1)


def embedding_bag(call: Call, table: Tensor, bags: Tensor) -> Tensor:
    rows = table.index_select(0, bags.flatten()).reshape((*bags.shape, table.shape[1]))
    combine: dict[str, Callable[[], Tensor]] = {
        "sum": lambda: rows.sum(1),
        "mean": lambda: rows.sum(1) / bags.shape[1],
        "max": lambda: rows.amax(1),
    }
    return combine[call.attributes["mode"]]()


def reverse_sequence(x: Tensor, lengths: Tensor) -> Tensor:
    times, lengths = torch.arange(x.shape[1]), lengths.unsqueeze(1)
    places = torch.where(times < lengths, lengths - 1 - times, times)
    return x[torch.arange(x.shape[0]).unsqueeze(1), places]


def diagonal(call: Call, x: Tensor) -> Tensor:
    offset, length = call.attributes["offset"], call.type.shape[-1]
    rows = torch.arange(length) + max(-offset, 0)
    return x[..., rows, rows + offset]


def diag_embed(call: Call, x: Tensor) -> Tensor:
    offset, size = call.attributes["offset"], call.type.shape[-1]
    if x.shape[-1] == 0:
        return x.new_zeros(call.type.shape)
    right = torch.arange(size) - torch.arange(size).unsqueeze(1)
    columns = (torch.arange(size) - max(offset, 0)).clamp(0, x.shape[-1] - 1)
    spread = x.index_select(-1, columns).unsqueeze(-2)
    return torch.where(right == offset, spread, torch.zeros((), dtype=x.dtype))


def repeat_interleave(call: Call, x: Tensor) -> Tensor:
    axis, times = call.attributes["axis"], call.attributes["times"]
    return x.index_select(axis, torch.arange(x.shape[axis] * times) // times)


def rot90(call: Call, x: Tensor) -> Tensor:
    for _ in range(call.attributes["times"] % 4):
        x = x.transpose(0, 1)
        x = x.index_select(0, torch.arange(x.shape[0] - 1, -1, -1))
    return x


def roll_all(call: Call, x: Tensor) -> Tensor:
    for axis, shift in enumerate(call.attributes["shifts"]):
        x = x.index_select(axis, (torch.arange(x.shape[axis]) - shift) % max(x.shape[axis], 1))
    return x


def _outside(indices: Tensor, size: int) -> None:
    undefined_where((indices < 0) | (indices >= size), "an index outside the axis")


def _check_axis(call: Call, x: Tensor, indices: Tensor, *updates: Tensor) -> None:
    _outside(indices, x.shape[call.attributes["axis"]])


def _check_rows(call: Call, x: Tensor, indices: Tensor, *updates: Tensor) -> None:
    for axis in range(indices.shape[1]):
        _outside(indices[:, axis], x.shape[axis])


# Undefined where inputs have no meaning, also if the result is empty, so that no formula is computed.
SELECTION_CHECKS: Mapping[str, Callable[..., None]] = {
    "index_add": _check_axis,
    "scatter_mean": _check_axis,
    "gather_nd": _check_rows,
    "scatter_nd_add": _check_rows,
    "segment_sum": lambda call, x, segments: _outside(segments, call.attributes["segments"]),
    "embedding_bag": lambda call, table, bags: _outside(bags, table.shape[0]),
    "reverse_sequence": lambda call, x, lengths: _outside(lengths, x.shape[1] + 1),
}
SELECTION: Mapping[str, Formula] = {
    "masked_fill": masked_fill,
    "index_add": index_add,
    "scatter_mean": scatter_mean,
    "gather_nd": lambda call, x, indices: gather_nd(x, indices),
    "scatter_nd_add": lambda call, x, indices, updates: scatter_nd_add(x, indices, updates),
    "segment_sum": segment_sum,
    "embedding_bag": embedding_bag,
    "reverse_sequence": lambda call, x, lengths: reverse_sequence(x, lengths),
    "diagonal": diagonal,
    "diag_embed": diag_embed,
    "repeat_interleave": repeat_interleave,
    "rot90": rot90,
    "movedim": lambda call, x: x.movedim(call.attributes["source"], call.attributes["target"]),
    "roll_all": roll_all,
}

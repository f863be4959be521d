"""How many insertions, deletions and substitutions lie between two rows of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

Whole = np.ndarray[Any, Any]
ROOM = 2**24  # numbers held at once
UNREACHED = -(2**30)


def edit_distances(rows: Tensor, others: Tensor, lengths: Tensor, other_lengths: Tensor, most: int) -> Tensor:
    """Levenshtein distance [batch] of rows [batch, width] of these lengths from others; `most` + 1 where it is more.

    Ukkonen's furthest points on diagonals: the cost grows with `most` times the width, and not with the width squared.
    """
    at_once = max(1, ROOM // ((2 * most + 1) * (rows.shape[1] + 1)))
    parts = [torch.arange(start, min(start + at_once, len(rows))) for start in range(0, len(rows), at_once)]
    return torch.cat(
        [_some_distances(rows[some], others[some], lengths[some], other_lengths[some], most) for some in parts]
    )


def _some_distances(rows: Tensor, others: Tensor, lengths: Tensor, other_lengths: Tensor, most: int) -> Tensor:
    ends, other_ends = lengths.numpy().astype(np.int32)[:, None], other_lengths.numpy().astype(np.int32)[:, None]
    diagonals = np.arange(-most, most + 1, dtype=np.int32)  # how much farther in the other a place is
    differing = _next_difference(rows.numpy(), others.numpy(), most)
    last = np.minimum(ends, other_ends - diagonals)  # [batch, diagonals] where both are not over yet
    goal = np.clip(other_ends - ends + most, 0, 2 * most)[:, 0]  # [batch] the diagonal that both end on
    reachable = np.abs(other_ends - ends)[:, 0] <= most
    found, every = np.full(len(rows), most + 1), np.arange(len(rows))
    start = np.where(diagonals == 0, 0, UNREACHED) + np.zeros_like(ends)  # [batch, diagonals] without any edit
    for edits in range(most + 1):
        reached = _slid(start, differing, last, diagonals)
        there = reachable & (reached[every, goal] >= ends[:, 0])
        found[there & (found > edits)] = edits
        if (found <= edits).all():
            break
        start = _one_edit_on(reached)
    return torch.from_numpy(found)


def _next_difference(rows: Whole, others: Whole, most: int) -> Whole:
    """[batch, diagonals, width + 1] where rows next differ from the others, from each place on."""
    batch, width = rows.shape
    kind = np.int16 if width < np.iinfo(np.int16).max else np.int32
    padded = np.full((batch, width + 2 * most), -1, dtype=np.int32)  # tokens and characters have fewer bits
    padded[:, most : most + width] = others
    views = np.lib.stride_tricks.sliding_window_view(padded, width, axis=1)  # [batch, diagonals, width]
    places = np.full((batch, views.shape[1], width + 1), width, dtype=kind)
    np.copyto(places[:, :, :width], np.arange(width, dtype=kind), where=rows.astype(np.int32)[:, None] != views)
    backwards = places[:, :, ::-1]
    np.minimum.accumulate(backwards, axis=2, out=backwards)
    return places


def _one_edit_on(reached: Whole) -> Whole:
    """The furthest places after one more edit: a substitution, an insertion or a deletion."""
    furthest = reached + 1
    np.maximum(furthest[:, :-1], reached[:, 1:] + 1, out=furthest[:, :-1])
    np.maximum(furthest[:, 1:], reached[:, :-1], out=furthest[:, 1:])
    return furthest


def _slid(start: Whole, differing: Whole, last: Whole, diagonals: Whole) -> Whole:
    """As far as both are alike from there; a place before either begins is none."""
    start = np.minimum(start, last)
    valid = (start >= 0) & (start + diagonals >= 0)
    rows = np.arange(differing.shape[0] * differing.shape[1]).reshape(start.shape) * differing.shape[2]
    onward = differing.reshape(-1)[rows + np.maximum(start, 0)]
    slid: Whole = np.where(valid, np.minimum(onward, last), UNREACHED)
    return slid

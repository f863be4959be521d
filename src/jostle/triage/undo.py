"""Shrinking edits to rows of tokens: one after another is taken back while the same bug shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import torch
from torch import Tensor

from jostle.inputs.tokens import Tokens


class Block(NamedTuple):
    """A stretch of the reference and what stands in its place."""

    old: list[int]
    new: list[int]


def undone(inputs: Tensor, references: Tensor, domain: Tokens, shows: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Inputs [findings, width] with as few of their edits as still show their bugs, tried one after another.

    `shows` tells of rows, and inputs of these rows, which show their bug [rows] bool.
    """
    ends = zip(_bare(references, domain), _bare(inputs, domain), strict=True)
    blocks = [list(_blocks(before, after)) for before, after in ends]
    best = inputs.clone()
    for number in range(max(map(len, blocks), default=0)):
        tried = {row: made for row in range(len(blocks)) if (made := _without(blocks[row], number)) is not None}
        fitting = {row: made for row, made in tried.items() if len(_joined(made)) <= inputs.shape[1]}
        if not fitting:
            continue
        rows, width = torch.tensor(list(fitting)), inputs.shape[1]
        candidates = torch.tensor([_filled(_joined(made), width, domain) for made in fitting.values()])
        for row, shown, candidate in zip(fitting, shows(rows, candidates).tolist(), candidates, strict=True):
            if shown:
                blocks[row], best[row] = fitting[row], candidate
    return best


def _bare(rows: Tensor, domain: Tokens) -> list[list[int]]:
    return [row[:length] for row, length in zip(rows.tolist(), domain.lengths(rows).tolist(), strict=True)]


def _blocks(before: list[int], after: list[int]) -> Iterator[Block]:
    """The stretches that are alike and those that differ; of equal length, a place at a time."""
    for _, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = before[first:last], after[start:end]
        if old != new and len(old) == len(new):
            yield from (Block([one], [other]) for one, other in zip(old, new, strict=True))
        else:
            yield Block(old, new)


def _without(blocks: list[Block], number: int) -> list[Block] | None:
    """The same with one edit taken back; None where there is none at that number."""
    if number >= len(blocks) or blocks[number].old == blocks[number].new:
        return None
    return [*blocks[:number], Block(blocks[number].old, blocks[number].old), *blocks[number + 1 :]]


def _joined(blocks: list[Block]) -> list[int]:
    return [token for block in blocks for token in block.new]


def _filled(tokens: list[int], width: int, domain: Tokens) -> list[int]:
    return [*tokens, *[domain.pad or 0] * (width - len(tokens))]

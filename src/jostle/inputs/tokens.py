"""Rows of tokens or bytes: whole numbers below a vocabulary's size, with padding behind and tokens that stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import torch
from torch import Tensor

from jostle.code_points import as_texts
from jostle.domain import Outside
from jostle.errors import PreflightFailed, SeedsRefused
from jostle.inputs.edit_distance import edit_distances

TOKENS, TEXT = "tokens", "text"
BYTES = 256
FARTHEST = 256  # edits that are told apart
WORDS = re.compile(r"\s+|\w+|[^\w\s]")
ENOUGH = 8  # seeds, before a token that begins or ends all of them is taken for a mark and not for chance


@dataclass(frozen=True)
class TokenForm:
    """What a user says of tokens; what is open is read off the seeds and the model."""

    vocabulary: int | None = None
    pad: int | None = None
    special: tuple[int, ...] = ()


UNSAID = TokenForm()


@dataclass(frozen=True)
class Tokens:
    """Tokens from 0 to below the vocabulary's size; padding stands only behind them, and special ones stay."""

    vocabulary: int
    pad: int | None = None  # None where all rows are full
    special: tuple[int, ...] = ()
    stated: bool = False  # the vocabulary is the user's word, and not read off the seeds
    kind: str = TOKENS  # or TEXT, whose tokens are Unicode code points
    mutator: str = "tokens"

    def lengths(self, inputs: Tensor) -> Tensor:
        """How many tokens each row [batch, width] holds before its padding [batch]."""
        if self.pad is None:
            return torch.full((len(inputs),), inputs.shape[1])
        return (inputs != self.pad).sum(1)

    def editable(self, inputs: Tensor) -> Tensor:
        """Which tokens [batch, width] may be changed: neither padding nor special."""
        fixed = [*self.special, *([] if self.pad is None else [self.pad])]
        allowed = torch.ones(inputs.shape, dtype=torch.bool)
        for token in fixed:  # faster than torch.isin for the few that there are
            allowed &= inputs != token
        return allowed

    @property
    def ordinary(self) -> Tensor:
        """[some] the tokens that may be written anywhere."""
        every = torch.arange(self.vocabulary)
        return every[self.editable(every[None])[0]]

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        inside = inputs.clamp(0, self.vocabulary - 1)
        if self.pad is None:
            return inside
        order = (inside == self.pad).to(torch.uint8).sort(dim=1, stable=True).indices
        return inside.gather(1, order)

    def outside(self, inputs: Tensor) -> Outside | None:
        bad = (inputs < 0) | (inputs >= self.vocabulary)
        if bad.any():
            row, place = bad.nonzero()[0].tolist()
            value = int(inputs[row, place])
            said = "below 0: number tokens from 0" if value < 0 else f"beyond the vocabulary of {self.vocabulary}"
            return Outside(row, f"token {value} at position {place} is {said}")
        behind = torch.arange(inputs.shape[1]) < self.lengths(inputs)[:, None]
        if self.pad is None or not (behind & (inputs == self.pad)).any():
            return None
        row, place = (behind & (inputs == self.pad)).nonzero()[0].tolist()
        return Outside(row, f"padding {self.pad} at position {place} stands before other tokens")

    def lines(self) -> list[str]:
        if self.kind == TEXT:
            return ["texts: tokens are made of them before the model"]
        padding = "no padding" if self.pad is None else f"padding {self.pad}"
        special = f", special {', '.join(map(str, self.special))}" if self.special else ""
        return [f"tokens: vocabulary {self.vocabulary}, {padding}{special}"]

    def as_toml(self) -> dict[str, Any]:
        if self.kind == TEXT:
            return {"kind": TEXT}
        known = {"kind": self.kind, "vocabulary": self.vocabulary, "special": list(self.special)}
        return known if self.pad is None else {**known, "pad": self.pad}

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        if self.kind == TEXT:
            before, after = as_texts(torch.stack([reference, input]))
            words = marked(WORDS.findall(before), WORDS.findall(after), "", _hidden)
            return {"input.txt": after.encode(), "change.txt": f"{words}\n".encode()}
        old, new = (row[: int(self.lengths(row[None]))].tolist() for row in (reference, input))
        return {"change.txt": f"{marked([*map(str, old)], [*map(str, new)], ' ')}\n".encode()}

    def of_model(self, size: int) -> Tokens:
        """The same with the vocabulary that a model's embedding has."""
        beyond = [token for token in (self.pad, *self.special) if token is not None and token >= size]
        if beyond:
            raise PreflightFailed(f"token {beyond[0]} of --pad or --special: the model's embedding has {size} only")
        if not self.stated:
            return replace(self, vocabulary=size)
        if self.vocabulary > size:
            raise PreflightFailed(
                f"--vocabulary {self.vocabulary}: the model's embedding has {size}: give at most that"
            )
        return self


def tokens_of(inputs: Tensor, names: tuple[str, ...], form: TokenForm, least: int = 0) -> Tokens:
    """The domain of seeds [seeds, width]: what the user says, and what they show; `least` is its smallest size."""
    largest, smallest = int(inputs.max()), int(inputs.min())
    if smallest < 0:
        row, place = (inputs < 0).nonzero()[0].tolist()
        raise SeedsRefused(
            f"seed {names[row]} has token {int(inputs[row, place])} at position {place}: number tokens from 0, or save "
            f"values that are no tokens as floats"
        )
    size = max(largest + 1, least, (form.pad or 0) + 1, *(one + 1 for one in form.special))
    if form.vocabulary is not None and size > form.vocabulary:
        raise SeedsRefused(_too_small(inputs, names, form.vocabulary, size))
    pad = _padding(inputs) if form.pad is None else form.pad
    bare = Tokens(form.vocabulary or size, pad, form.special, form.vocabulary is not None)
    return bare if form.special else replace(bare, special=_marks(inputs, bare))


def _too_small(inputs: Tensor, names: tuple[str, ...], vocabulary: int, size: int) -> str:
    beyond = (inputs >= vocabulary).nonzero()
    if not len(beyond):
        return f"--vocabulary {vocabulary} leaves out --pad or --special: give at least {size}"
    row, place = beyond[0].tolist()
    value = int(inputs[row, place])
    return f"--vocabulary {vocabulary}: seed {names[row]} has token {value} at position {place}: give at least {size}"


def _padding(inputs: Tensor) -> int | None:
    """The value that fills nothing but tails, in some row more than its last place; None if there is none."""
    tails = {int(value): int((inputs == value).sum()) for value in inputs[:, -1].unique()}
    for value in sorted(tails, key=lambda value: -tails[value]):
        filled = inputs == value
        behind = filled.flip(1).int().cumprod(1).flip(1).bool()
        if torch.equal(behind, filled) and filled[:, -2:].all(1).any() and not filled[:, 0].all():
            return value
    return None


def _marks(inputs: Tensor, domain: Tokens) -> tuple[int, ...]:
    """Tokens that begin or end every row and stand nowhere else, such as CLS and SEP."""
    lengths = domain.lengths(inputs)
    if len(inputs) < ENOUGH or int(lengths.min()) < 3:
        return ()
    ends = inputs.gather(1, lengths[:, None] - 1)[:, 0]
    found = [int(edge[0]) for edge in (inputs[:, 0], ends) if (edge == edge[0]).all()]
    return tuple(dict.fromkeys(one for one in found if int((inputs == one).sum()) == len(inputs)))


def edit_sizes(inputs: Tensor, references: Tensor, domain: Tokens) -> dict[str, Tensor]:
    """How large each change is, by the usual measures [batch], where a token is changed or is not: by 1 or by 0."""
    lengths, known = domain.lengths(inputs), domain.lengths(references)
    edits = edit_distances(inputs, references, lengths, known, FARTHEST)
    euclidean = edits.float().sqrt()
    relative = euclidean / known.clamp(min=1).float().sqrt()
    return {"L0": edits, "L2": euclidean, "relative L2": relative, "L∞": edits.clamp(max=1).float()}


def _hidden(old: str, new: str) -> str:
    """The numbers of new characters that look like others or like nothing."""
    return "".join(f" U+{ord(sign):04X}" for sign in dict.fromkeys(new) if not sign.isascii() and sign not in old)


def marked(
    before: list[str], after: list[str], between: str, note: Callable[[str, str], str] = lambda old, new: ""
) -> str:
    """What stands after, with each change marked, `the [cat→cot] sat`, and noted where it needs it."""
    parts: list[str] = []
    for operation, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = between.join(before[first:last]), between.join(after[start:end])
        parts.append(new if operation == "equal" else f"[{old}→{new}{note(old, new)}]")
    return between.join(parts)

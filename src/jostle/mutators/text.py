"""Edits to texts that a person reads over: letters, case, white space, look-alikes, and synonyms from a list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from jostle.code_points import as_code_points, as_texts
from jostle.errors import UsageError
from jostle.inputs.text import read_synonyms
from jostle.inputs.tokens import TEXT, Tokens
from jostle.mutators.bounded_edits import COSTS, BoundedEdits, Edited, EditKind, EditOptions, drawn_places, with_edit
from jostle.options import kinds
from jostle.options.declaration import Theme, option
from jostle.options.schema import Settings
from jostle.part import Part, PartContext

LINE = "Edits letters, case, white space, look-alikes and synonyms of texts, near the root seed by edit distance."
# Latin letters, and others that most typefaces draw the same.
LATIN, LOOK_ALIKES = "aceijopsxyABCEHIKMOPSTX", "асеіјорѕхуАВСЕНІКМОРЅТХ"
SPACE, NO_BREAK = " ", "\u00a0"
TABLED = 0x10000  # code points whose kind is known; others are left alone
WORD_SHARE = 0.25  # of the edits that are to a whole word
WORD = re.compile(r"[^\W\d_]+")
Synonyms = Mapping[str, Sequence[str]]  # by a word in lower case


@dataclass(frozen=True)
class TextOptions:
    """What may be written for what."""

    synonyms: str | None = option(
        kinds.TEXT, "File of words that mean the same, a line each: good, fine", Theme.MUTATION, names_file=True
    )


@dataclass(frozen=True)
class LetterEdit:
    """An edit to one character: where it goes, by what is known of characters, and what it does there."""

    name: str
    does: EditKind
    written: (
        Tensor | None
    )  # [code points] what is written for a character, itself where it does not go; None goes to letters


class TextEdits:
    """One edit at a place drawn from those where it goes: each kind as likely, and a quarter of them to whole words."""

    def __init__(self, domain: Tokens, synonyms: Synonyms | None = None):
        self._domain, self._synonyms = domain, synonyms or {}

    def edit(self, rows: Tensor, labels: Tensor, left: Tensor, rng: torch.Generator) -> Edited:
        edited = self._of_letters(rows, left, rng)
        luck = torch.rand(len(rows), 3, generator=rng)
        of_words = (luck[:, 0] < WORD_SHARE).nonzero().squeeze(1)
        return self._of_words(rows, edited, left, luck, of_words) if len(of_words) else edited

    def _of_letters(self, rows: Tensor, left: Tensor, rng: torch.Generator) -> Edited:
        codes = rows.clamp(max=TABLED - 1)
        allowed = torch.stack([self._allowed(one, codes, left) for one in letter_edits()], 1)  # [batch, edits, width]
        chosen, possible = drawn_places(allowed.any(2), rng)
        places, _ = drawn_places(allowed[torch.arange(len(rows)), chosen], rng)
        does = torch.tensor([one.does for one in letter_edits()])[chosen]
        does = torch.where(possible > 0, does, EditKind.NOTHING)
        here = codes.gather(1, places[:, None])[:, 0]
        children = with_edit(rows, does, places, _written()[chosen, here], self._domain.pad or 0)
        names = [
            f"{letter_edits()[edit].name} {place}" for edit, place in zip(chosen.tolist(), places.tolist(), strict=True)
        ]
        return Edited(children, COSTS[does], names)

    def _allowed(self, one: LetterEdit, codes: Tensor, left: Tensor) -> Tensor:
        """Where in each row it goes [batch, width]."""
        allowed = _letters()[codes] if one.written is None else one.written[codes] != codes
        if one.does in (EditKind.INSERT, EditKind.DUPLICATE):
            return allowed & (self._domain.lengths(codes) < codes.shape[1])[:, None]
        if one.does is EditKind.DELETE:
            return allowed & (allowed.sum(1) > 1)[:, None]
        if one.does is EditKind.SWAP:
            both = allowed[:, :-1] & allowed[:, 1:] & (codes[:, :-1] != codes[:, 1:])
            return functional.pad(both & (left >= COSTS[EditKind.SWAP])[:, None], (0, 1))
        return allowed

    def _of_words(self, rows: Tensor, edited: Edited, left: Tensor, luck: Tensor, some: Tensor) -> Edited:
        """The same with edits to whole words in some of the rows, where there is a word that one goes to."""
        children, costs, names = edited.rows.clone(), edited.costs.clone(), list(edited.names)
        width = rows.shape[1]
        for row, text in zip(some.tolist(), as_texts(rows[some]), strict=True):
            made = self._reworded(text, int(left[row]), luck[row, 1:].tolist())
            if made is not None and len(made[0]) <= width:
                children[row] = as_code_points([made[0]], width)[0]
                costs[row], names[row] = made[1], made[2]
        return Edited(children, costs, names)

    def _reworded(self, text: str, left: int, luck: Sequence[float]) -> tuple[str, int, str] | None:
        """The text with one word in capitals or another of the same meaning, what it cost, and what was done."""
        choices = [
            (match, other, name)
            for match in WORD.finditer(text)
            for other, name in self._others(match[0])
            if _cost(match[0], other) <= left
        ]
        if not choices:
            return None
        names = sorted({name for _, _, name in choices})
        name = names[int(luck[0] * len(names))]
        of_name = [choice for choice in choices if choice[2] == name]
        match, other, _ = of_name[int(luck[1] * len(of_name))]
        return text[: match.start()] + other + text[match.end() :], _cost(match[0], other), f"{name} {match.start()}"

    def _others(self, word: str) -> list[tuple[str, str]]:
        capitals = [word.upper()] if len(word) > 1 and word.upper() != word and len(word.upper()) == len(word) else []
        synonyms = self._synonyms.get(word.lower(), ())
        alike = [one.capitalize() if word[0].isupper() else one for one in synonyms]
        return [*((one, "capitals") for one in capitals), *((one, "synonym") for one in alike)]


def _cost(word: str, other: str) -> int:
    """Substitutions between words of one length, and at most so many edits between others."""
    if len(word) == len(other):
        return sum(one != another for one, another in zip(word, other, strict=True))
    return max(len(word), len(other))


@cache
def letter_edits() -> tuple[LetterEdit, ...]:
    """All edits to one character."""
    alike = _table({**dict(zip(LATIN, LOOK_ALIKES, strict=True)), **dict(zip(LOOK_ALIKES, LATIN, strict=True))})
    cases = _table({chr(code): chr(code).swapcase() for code in range(TABLED) if len(chr(code).swapcase()) == 1})
    return (
        LetterEdit("swap letters", EditKind.SWAP, None),
        LetterEdit("drop letter", EditKind.DELETE, None),
        LetterEdit("double letter", EditKind.DUPLICATE, None),
        LetterEdit("case", EditKind.SUBSTITUTE, cases),
        LetterEdit("look-alike", EditKind.SUBSTITUTE, alike),
        LetterEdit("double space", EditKind.DUPLICATE, _table({SPACE: NO_BREAK})),
        LetterEdit("no-break space", EditKind.SUBSTITUTE, _table({SPACE: NO_BREAK})),
    )


def _table(written: Mapping[str, str]) -> Tensor:
    """[code points] what is written for each."""
    table = _same().clone()
    table[[ord(one) for one in written]] = torch.tensor([min(ord(other), TABLED - 1) for other in written.values()])
    return table


@cache
def _same() -> Tensor:
    return torch.arange(TABLED)


@cache
def _written() -> Tensor:
    """[edits, code points] what each edit writes for a character."""
    return torch.stack([_same() if one.written is None else one.written for one in letter_edits()])


@cache
def _letters() -> Tensor:
    """[code points] bool"""
    return torch.tensor([chr(code).isalpha() for code in range(TABLED)])


def _text(settings: Settings, context: PartContext) -> BoundedEdits:
    domain = context.domain
    if not isinstance(domain, Tokens) or domain.kind != TEXT:
        raise UsageError(f"--mutator text is for texts (.txt files with --tokenizer): use --mutator {domain.mutator}")
    file = settings[TextOptions].synonyms
    synonyms = None if file is None else read_synonyms(Path(file))
    return BoundedEdits(domain, TextEdits(domain, synonyms), settings[EditOptions].edits)


TEXT_EDITS = Part(LINE, _text, (EditOptions, TextOptions))

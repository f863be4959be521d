"""A change that should not matter may not rewrite a sequence of tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from jostle.inputs.edit_distance import edit_distances
from jostle.options.campaign import TOKEN
from jostle.options.choices import chosen
from jostle.options.declaration import Theme, option
from jostle.options.kinds import LONGEST, Kind, shown
from jostle.options.schema import Settings
from jostle.oracles.amounts import ABSOLUTE, SHARE, Amount, amount
from jostle.oracles.answers import finite_rows
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, OnSeeds, Seeds, Trace, Verdicts, Violation

NO_TOKEN = NO_LABEL  # behind the end of a sequence
SLICE = re.compile(r"(\d{0,9}):(\d{0,9})")


def _field(value: Any) -> str:
    text = shown(value)
    if isinstance(value, bool) or not text or len(text) > LONGEST or (":" in text and not SLICE.fullmatch(text)):
        raise ValueError("give positions of tokens such as 0:4, or the name of an output")
    return text


FIELD = Kind("START:END", str, _field, ("", "a:b", "1:2:3", "-1:2", True))


@dataclass(frozen=True)
class SequenceOptions:
    """How much of a sequence may change."""

    edit_distance: str = option(
        amount(ABSOLUTE, SHARE, say="give so many edits, such as 2, or a share of the length, such as 10%"),
        "Most tokens to insert, delete or substitute on the way from the seed's sequence: 2, or 10% of it",
        Theme.DEFECTS,
        default="10%",
    )
    field: str | None = option(
        FIELD, "Tokens that must not change at all: START:END, or the name of an output", Theme.DEFECTS
    )
    end_token: int | None = option(TOKEN, "The token that ends a sequence", Theme.DEFECTS)


class SequenceKept:
    """The tokens are those of the seed but for some edits, and those of a field all; one bug per seed and rule."""

    looks_inside = False
    compares_with_truth = True  # labels, where there are any

    def __init__(
        self,
        edit_distance: str = SequenceOptions.edit_distance,
        field: str | None = None,
        end_token: int | None = None,
    ):
        """The seed's tokens are its label where that is known, else what the model said of it."""
        self._bound, self._field, self._end = Amount.parsed(edit_distance), field, end_token

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        answers, outputs = candidates.answers, trace.outputs[MODEL]
        expected = self._expected(candidates.labels, answers)
        expected, given = aligned(expected, answered_tokens(outputs, self._end))
        distances, allowed = self._distances(expected, given)
        field = self._field_differs(expected, given, candidates, trace)
        finite = finite_rows(answers, outputs)
        bugs = candidates.roots * 2 + field

        def describe(row: int) -> Violation:
            told, rule = int(distances[row]), "field" if field[row] else "edits"
            summary = f"the field {self._field} changed" if field[row] else f"{told} tokens changed"
            texts = {"of the seed": _text(expected[row]), "of the input": _text(given[row])}
            return Violation("sequence", f"sequence:{rule}:{int(candidates.roots[row])}", summary, texts)

        return Verdicts.where("sequence", trace, ((distances > allowed) | field) & finite, bugs, describe)

    def on_seeds(self, seeds: Seeds) -> OnSeeds | None:
        """Which sequences are too far from their labels; None where no label is known."""
        assert seeds.answers is not None, "known once seeds are cleared"
        known = known_sequences(seeds.labels)
        if not known.any():
            return None
        labels, given = aligned(ended(seeds.labels.long(), self._end), answered_tokens(seeds.answers, self._end))
        distances, allowed = self._distances(labels, given)
        return OnSeeds(
            (distances > allowed) & known, "exact matches", float((labels == given).all(1)[known].float().mean())
        )

    def _expected(self, labels: Tensor, answers: Tensor) -> Tensor:
        """[batch, tokens] of labels where they are known, else of answers."""
        known, said = known_sequences(labels), answered_tokens(answers, self._end)
        if not known.any():
            return said
        labels, said = aligned(ended(labels.long(), self._end), said)
        return torch.where(known[:, None], labels, said)

    def _distances(self, expected: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """[batch] edit distances, and how large they may be; where fewer tokens than that differ, how many do."""
        length = (expected != NO_TOKEN).sum(1)
        allowed = (
            length * self._bound.value if self._bound.unit == SHARE else torch.full((len(given),), self._bound.value)
        )
        distances = (expected != given).sum(1)
        rows = (distances > allowed).nonzero().squeeze(1)
        if not len(rows):
            return distances, allowed
        most = int(distances[rows].max())  # substitutions alone, so none is larger
        edits = edit_distances(expected[rows], given[rows], length[rows], (given[rows] != NO_TOKEN).sum(1), most)
        return distances.index_copy(0, rows, edits), allowed

    def _field_differs(self, expected: Tensor, given: Tensor, candidates: Candidates, trace: Trace) -> Tensor:
        """[batch] bool: whether a token of the field is another."""
        if self._field is None:
            return torch.zeros(len(given), dtype=torch.bool)
        match = SLICE.fullmatch(self._field)
        if match is None:
            before, after = (some[output_named(self._field)] for some in (candidates.other_answers, trace.others))
            return (answered_tokens(before) != answered_tokens(after)).any(1) & finite_rows(before, after)
        places = slice(*(int(place) if place else None for place in match.groups()))
        return (expected[:, places] != given[:, places]).any(1)


def answered_tokens(outputs: Tensor, end: int | None = None) -> Tensor:
    """Tokens [batch, tokens] of outputs that are tokens, or scores of them [batch, tokens, vocabulary]."""
    tokens = (
        outputs.argmax(2) if outputs.ndim == 3 else outputs.nan_to_num(0, 0, 0).clamp(-1, 2**31 - 128).round().long()
    )
    return ended(tokens.unsqueeze(-1).flatten(1), end)


def ended(tokens: Tensor, end: int | None) -> Tensor:
    """The same with nothing behind the first token that ends a sequence, or is below zero."""
    last = (tokens < 0) | (tokens == (NO_TOKEN if end is None else end))
    return torch.where(last.cummax(1).values, NO_TOKEN, tokens)


def aligned(some: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Both [batch, tokens], as wide as the wider one."""
    width = max(some.shape[1], others.shape[1])
    filled = [functional.pad(tokens, (0, width - tokens.shape[1]), value=NO_TOKEN) for tokens in (some, others)]
    return filled[0], filled[1]


def known_sequences(labels: Tensor) -> Tensor:
    """[batch] bool: which labels are sequences [tokens] that hold any token."""
    return (labels >= 0).any(1) if labels.ndim == 2 else torch.zeros(len(labels), dtype=torch.bool)


def output_named(field: str) -> str:
    return f"output.{field.removeprefix('output.')}"


def _text(tokens: Tensor) -> list[int]:
    return [token for token in tokens.tolist() if token != NO_TOKEN]


def _sequence(settings: Settings, context: PartContext) -> SequenceKept:
    options, shape = settings[SequenceOptions], context.answer_shape
    if len(shape) not in (1, 2):
        raise context.unfit("sequence", "tokens [batch, tokens] or their scores [batch, tokens, vocabulary]")
    if options.field is not None and SLICE.fullmatch(options.field) is None:
        chosen("--field", output_named(options.field), context.seeds.other_answers)
    return SequenceKept(options.edit_distance, options.field, options.end_token)


SEQUENCE = Part(first_line(SequenceKept), _sequence, (SequenceOptions,), compares=ComparedWith.SEED)

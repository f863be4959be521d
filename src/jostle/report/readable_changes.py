"""What changed in inputs that are no images: texts with marked edits, and values side by side."""

from __future__ import annotations

from difflib import SequenceMatcher

import torch
from torch import Tensor

from jostle.code_points import as_texts
from jostle.inputs.tokens import TEXT, TOKENS, WORDS
from jostle.report.contents import ReadableChange, TextEdit, Value
from jostle.report.input_form import InputForm, InputForms

MOST_VALUES = 24
MOST_PIECES = 4000  # of a text: comparing takes the square of it
PICTURES = ("image", "audio")


def readable_changes(input: Tensor, reference: Tensor, forms: InputForms) -> list[ReadableChange]:
    """For each of the inputs in a row [...] that cannot be seen as a picture, and differs from its reference."""
    before, after = forms.parts(reference), forms.parts(input)
    changes = [_change(name, before[name], after[name], forms.of(name)) for name in after]
    return [one for one in changes if one is not None]


def _change(name: str, before: Tensor, after: Tensor, form: InputForm) -> ReadableChange | None:
    if form.kind == TEXT:
        old, new = as_texts(torch.stack([before, after]))
        return ReadableChange(name, edits=_edits(WORDS.findall(old), WORDS.findall(new), ""))
    if form.kind == TOKENS:
        return ReadableChange(name, edits=_edits(_tokens(before, form), _tokens(after, form), " "))
    if form.kind in PICTURES and bool(after.float().isfinite().all()):
        return None
    return _values(name, before.flatten(), after.flatten(), form)


def _tokens(row: Tensor, form: InputForm) -> list[str]:
    tokens = row.flatten().tolist()
    while tokens and tokens[-1] == form.pad:
        tokens.pop()
    return [str(one) for one in tokens]


def _edits(before: list[str], after: list[str], between: str) -> tuple[TextEdit, ...]:
    """All of a text in pieces, those that are the same before and after included."""
    old, new = before[:MOST_PIECES], after[:MOST_PIECES]
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    pieces = ((between.join(old[i:j]), between.join(new[k:m])) for _, i, j, k, m in codes)
    return tuple(TextEdit(*piece) for piece in pieces)


def _values(name: str, before: Tensor, after: Tensor, form: InputForm) -> ReadableChange | None:
    """The values that changed, those first that changed most, or in the order of the table."""
    differs = (before != after) & ~(before.isnan() & after.isnan())
    places = differs.nonzero().flatten()
    if not len(places):
        return None
    if not form.columns:
        sizes = (after - before).float()[places].abs().nan_to_num(torch.inf)
        places = places[sizes.argsort(descending=True, stable=True)]
    shown = [_value(place, float(before[place]), float(after[place]), form) for place in places[:MOST_VALUES].tolist()]
    return ReadableChange(name, values=tuple(shown), left_out=len(places) - len(shown))


def _value(place: int, before: float, after: float, form: InputForm) -> Value:
    (name, old), (_, new) = form.shown(place, before), form.shown(place, after)
    return Value(name, old, new)

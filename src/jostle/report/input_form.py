"""What the inputs of a campaign are, as far as its domain file and its layout tell: enough to show them to a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from jostle.inputs.domain_files import DOMAIN_FILE
from jostle.inputs.table_columns import shortest
from jostle.inputs.value_range import IMAGE
from jostle.layout import Layout
from jostle.untrusted.files import named_file
from jostle.untrusted.toml_text import read_toml

WHOLE = ""  # the name of the only input of a model that has one


@dataclass(frozen=True)
class InputForm:
    """One input of the model."""

    kind: str = "array"  # image, array, table, tokens, text, audio
    columns: tuple[str, ...] = ()  # of a table
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by column, what its codes stand for
    pad: int | None = None  # of tokens

    def shown(self, place: int, value: float) -> tuple[str, str]:
        """What a person calls the value at a place of a flat array, and the value."""
        if place >= len(self.columns):
            return f"[{place}]", f"{shortest(value):.9g}"
        labels = self.labels.get(self.columns[place], ())
        code = int(value) if value == value and abs(value) < len(labels) + 1 else -1
        known = code == value and 0 <= code < len(labels)
        return self.columns[place], labels[code] if known else f"{shortest(value):.9g}"


@dataclass(frozen=True)
class InputForms:
    """All inputs of the model by name."""

    forms: Mapping[str, InputForm]
    layout: Layout | None = None  # where each of several lies in a row

    @property
    def sound(self) -> bool:
        """Whether the only input is a recording."""
        return self.forms.get(WHOLE, InputForm()).kind == "audio"

    def parts(self, input: Tensor) -> dict[str, Tensor]:
        """The inputs by name of one row [...]; of one that does not fit its layout, the row itself."""
        if self.layout is None or input.ndim != 1 or input.numel() != sum(one.size for one in self.layout.fields):
            return {WHOLE: input}
        return {one.name: input[self.layout.places[one.name]].reshape(one.shape) for one in self.layout.fields}

    def seen(self, input: Tensor) -> Tensor:
        """The part of one row [...] that can be seen: the first image of several inputs, else all of it."""
        images = (name for name, form in self.forms.items() if form.kind == IMAGE)
        return self.parts(input).get(next(images, WHOLE), input) if self.layout is not None else input

    def of(self, name: str) -> InputForm:
        return self.forms.get(name, InputForm())


def read_forms(folder: Path, layout: Layout | None) -> InputForms:
    """What the campaign in this folder keeps of its inputs; arrays where that cannot be read."""
    try:
        content = read_toml(named_file(folder, DOMAIN_FILE))
    except (OSError, ValueError):
        return InputForms({}, layout)
    several = content.get("input")
    if isinstance(several, dict):
        return InputForms({str(name): _form(one) for name, one in several.items()}, layout)
    return InputForms({WHOLE: _form(content)}, layout)


def _form(content: Any) -> InputForm:
    if not isinstance(content, dict):
        return InputForm()
    columns = content.get("column")
    named: dict[str, Any] = columns if isinstance(columns, dict) else {}
    labels = {name: _labels(one) for name, one in named.items()}
    pad = content.get("pad")
    return InputForm(
        kind=str(content.get("kind", "array")),
        columns=tuple(named),
        labels={name: some for name, some in labels.items() if some},
        pad=pad if isinstance(pad, int) else None,
    )


def _labels(column: Any) -> tuple[str, ...]:
    """What the codes of a category stand for, where those are texts."""
    values = column.get("values") if isinstance(column, dict) else None
    return tuple(values) if isinstance(values, list) and all(isinstance(one, str) for one in values) else ()

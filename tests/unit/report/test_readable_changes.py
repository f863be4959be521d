"""What changed in tables, texts, tokens and other arrays, as a person reads it."""

from __future__ import annotations

from pathlib import Path

import torch

from jostle.code_points import as_code_points
from jostle.layout import Field, Layout
from jostle.report.contents import TextEdit, Value
from jostle.report.input_form import InputForm, InputForms, read_forms
from jostle.report.readable_changes import MOST_VALUES, readable_changes

TABLE = """
kind = "table"
[column.age]
kind = "integer"
low = 21
high = 65
[column.contract]
kind = "category"
values = ["open", "permanent"]
"""


def forms(tmp_path: Path, content: str, layout: Layout | None = None) -> InputForms:
    (tmp_path / "domain.toml").write_text(content)
    return read_forms(tmp_path, layout)


def test_columns_have_their_names_and_categories_their_words(tmp_path: Path) -> None:
    (change,) = readable_changes(torch.tensor([40.0, 1.0]), torch.tensor([44.0, 0.0]), forms(tmp_path, TABLE))
    assert change.values == (Value("age", "44", "40"), Value("contract", "open", "permanent"))


def test_a_code_that_no_category_has_is_shown_as_a_number(tmp_path: Path) -> None:
    for code in (7.0, -1.0, 0.5, torch.nan, torch.inf):
        (change,) = readable_changes(torch.tensor([44.0, code]), torch.tensor([44.0, 0.0]), forms(tmp_path, TABLE))
        assert change.values == (Value("contract", "open", f"{code:g}"),)


def test_edits_of_a_text_are_its_pieces(tmp_path: Path) -> None:
    before, after = as_code_points(["the cat sat", "the cot sat"], 20)
    (change,) = readable_changes(after, before, forms(tmp_path, 'kind = "text"'))
    assert change.edits == (TextEdit("the ", "the "), TextEdit("cat", "cot"), TextEdit(" sat", " sat"))


def test_tokens_are_shown_without_padding(tmp_path: Path) -> None:
    before, after = torch.tensor([5, 6, 7, 0]), torch.tensor([5, 9, 0, 0])
    (change,) = readable_changes(after, before, forms(tmp_path, 'kind = "tokens"\npad = 0'))
    assert change.edits == (TextEdit("5", "5"), TextEdit("6 7", "9"))


def test_of_other_arrays_the_values_are_shown_that_changed_most(tmp_path: Path) -> None:
    before = torch.zeros(100)
    (change,) = readable_changes(torch.arange(100.0), before, forms(tmp_path, 'kind = "array"'))
    assert change.values[0] == Value("[99]", "0", "99") and len(change.values) == MOST_VALUES
    assert change.left_out == 99 - MOST_VALUES


def test_what_is_not_finite_is_shown_also_of_images(tmp_path: Path) -> None:
    image, domain = torch.zeros(1, 2, 2), forms(tmp_path, 'kind = "image"')
    assert readable_changes(image + 1, image, domain) == []
    (change,) = readable_changes(torch.full_like(image, torch.nan), image, domain)
    assert change.values[0] == Value("[0]", "0", "nan")


def test_several_inputs_are_shown_apart() -> None:
    layout = Layout((Field("image", (1, 2, 2)), Field("age", ())))
    several = InputForms({"image": InputForm("image"), "age": InputForm("table", ("age",))}, layout)
    before = torch.zeros(5)
    after = torch.tensor([0.0, 1.0, 0.0, 0.0, 30.0])
    (change,) = readable_changes(after, before, several)
    assert (change.name, change.values) == ("age", (Value("age", "0", "30"),))
    assert several.seen(after).shape == (1, 2, 2)


def test_a_damaged_domain_file_leaves_arrays(tmp_path: Path) -> None:
    for content in ("kind = ", "input = 3", "column = 3", 'kind = 3\npad = "x"', "[input]\na = 3"):
        (change,) = readable_changes(torch.ones(3), torch.zeros(3), forms(tmp_path, content))
        assert len(change.values) == 3

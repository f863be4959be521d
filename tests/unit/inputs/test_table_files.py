"""CSV and parquet files as seeds."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
import torch
from pyarrow import parquet

from jostle.errors import SeedsRefused
from jostle.inputs.parquet_files import columns_of
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.table import Table
from jostle.records import NO_LABEL, Seeds

ROWS = "age,colour,owner,weight,label\n30,red,true,1.5,yes\n41, blue ,false,2.5,no\n52,red,true,3,yes\n"


def read(folder: Path, text: str, label: str | None = None) -> Seeds:
    path = folder / "rows.csv"
    path.write_text(text, encoding="utf-8")
    return load_seeds(str(path), SeedForm(label=label))


def domain(seeds: Seeds) -> Table:
    assert isinstance(seeds.domain, Table)
    return seeds.domain


def test_columns_of_text_are_coded_by_their_sorted_order_and_the_label_is_left_out(tmp_path: Path) -> None:
    seeds = read(tmp_path, ROWS)
    assert seeds.inputs.tolist() == [[30, 1, 1, 1.5], [41, 0, 0, 2.5], [52, 1, 1, 3]]
    assert seeds.labels.tolist() == [1, 0, 1]
    assert domain(seeds).names == ("age", "colour", "owner", "weight")
    assert domain(seeds).columns[1].labels == ("blue", "red") and domain(seeds).label == "label"


def test_any_column_can_be_the_label_and_fractions_are_no_classes(tmp_path: Path) -> None:
    seeds = read(tmp_path, ROWS, label="weight")
    assert seeds.labels.tolist() == [1.5, 2.5, 3.0] and "label" in domain(seeds).names


def test_without_a_column_of_labels_none_are_known(tmp_path: Path) -> None:
    assert read(tmp_path, "a;b\n1;2\n3;4\n").labels.tolist() == [NO_LABEL] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n3,\n", "line 3, column b: the value is missing"),
        ("a,b\n1,2\n3,NA\n", "line 3, column b: the value is missing"),
        ("a,b\nred,2\n,3\n", "line 3, column a: the value is missing"),
        ("a,b\n1,2\n3\n", "line 3 has 1 values, and the header has 2"),
        ("1,2\n3,4\n", "write the names of the columns there"),
        (",a\n0,4\n", "column 1 has no name"),
        ("a,a\n0,4\n", "two columns are named a"),
        ("a,b\n", "a header and no rows"),
        ("label\n3\n", "nothing to change"),
        ("", "it is empty"),
        ("a,b\n\n1,2\n\n\n3,\n", "line 6, column b: the value is missing"),
        ("a,b\n16777216,2\n16777217,2\n", "line 3, column a is 16777217: whole numbers above 16777216 are not told"),
        ("a,b\n-16777217,2\n", "line 2, column a is -16777217"),
        ("a,b\nre\0d,2\n", "it holds a NUL"),
        ("a" * 1001 + ",b\n1,2\n", "the name of column 1 has 1,001 characters: shorten it"),
        ("a" * 10_000_001 + ",b\n1,2\n", "a line has more than 10,000,000 characters"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SeedsRefused) as refused:
        read(tmp_path, text)
    assert problem in str(refused.value) and "\n" not in str(refused.value)


def test_a_label_that_is_no_column_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SeedsRefused, match=r"--label 'wieght' is unknown: did you mean weight"):
        read(tmp_path, ROWS, label="wieght")


def test_a_label_is_refused_for_seeds_without_columns(tmp_path: Path) -> None:
    with pytest.raises(SeedsRefused, match="--label names a column"):
        load_seeds("jostle.zoo:mnist_sample", SeedForm(label="y"))


def test_bytes_that_are_no_text_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"a,b\n\xff\xfe,2\n")
    with pytest.raises(SeedsRefused, match="not a readable table"):
        load_seeds(str(tmp_path / "rows.csv"), SeedForm())


def test_a_parquet_file_gives_the_same_seeds_as_its_csv(tmp_path: Path) -> None:
    columns = {"age": [30, 41, 52], "colour": ["red", "blue", "red"], "owner": [True, False, True]}
    table = pyarrow.table({**columns, "weight": [1.5, 2.5, 3.0], "label": ["yes", "no", "yes"]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    seeds, expected = load_seeds(str(tmp_path / "rows.parquet"), SeedForm()), read(tmp_path, ROWS)
    assert torch.equal(seeds.inputs, expected.inputs) and torch.equal(seeds.labels, expected.labels)
    assert seeds.domain == expected.domain


def test_a_parquet_file_with_a_missing_value_or_damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"a": [1, None], "b": [1, 2]}), path)
    with pytest.raises(SeedsRefused, match=r"line 2, column a: the value is missing"):
        load_seeds(str(path), SeedForm())
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(SeedsRefused, match="not a readable table"):
        load_seeds(str(path), SeedForm())


def test_a_parquet_file_that_unpacks_to_too_many_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    many = pyarrow.nulls(20_000_001, pyarrow.int8())
    parquet.write_table(pyarrow.table({"a": many}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(SeedsRefused, match="it holds 20,000,001 values, and may hold"):
        load_seeds(str(path), SeedForm())


def test_numbers_with_a_decimal_point_may_be_large(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n16777217.0,2\n1e9,3\n").inputs[:, 0].tolist() == [16777216, 1e9]


def test_blank_lines_do_not_count_as_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jostle.inputs.table_files.MOST_CELLS", 4)
    assert len(read(tmp_path, "a,b\n1,2\n\n\n3,4\n")) == 2
    with pytest.raises(SeedsRefused, match="more than 4 values: keep fewer rows"):
        read(tmp_path, "a,b\n1,2\n3,4\n5,6\n")


def test_a_header_of_many_columns_is_read_at_once(tmp_path: Path) -> None:
    count = 200_000  # which took hours while each name was compared with all others
    with pytest.raises(SeedsRefused, match="two columns are named c0"):
        read(tmp_path, ",".join(f"c{place}" for place in range(count)) + ",c0\n1\n")


def refusal(path: Path, table: pyarrow.Table, **how: object) -> str:
    parquet.write_table(table, path, **how)
    with pytest.raises(SeedsRefused) as refused:
        load_seeds(str(path), SeedForm())
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def test_a_small_parquet_file_cannot_fill_memory_with_texts(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    text = pyarrow.array(["x" * 2**20] * 300)
    assert "a text of 1,048,576 characters" in refusal(path, pyarrow.table({"a": text}))
    assert path.stat().st_size < 100_000
    shared = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    assert "it may unpack to" in refusal(path, pyarrow.table({"a": text}), **shared)
    assert path.stat().st_size < 200_000
    wide = pyarrow.array([b"x" * 2**20] * 300, pyarrow.binary(2**20))
    assert "it may unpack to 314,572,800 bytes" in refusal(path, pyarrow.table({"a": wide}))


def test_equal_texts_of_a_parquet_file_are_held_once(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"a": ["x" * 9000] * 300}), tmp_path / "rows.parquet")
    _, (texts,) = columns_of(tmp_path / "rows.parquet", 300, 20_000)
    assert len(texts) == 300 and len({id(text) for text in texts}) == 1


def test_columns_of_a_parquet_file_hold_one_value_in_each_row_and_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    assert "column a holds list" in refusal(path, pyarrow.table({"a": [[1, 2], [3]]}))
    twice = pyarrow.table([pyarrow.array(["x"]), pyarrow.array(["y"])], names=["a", "a"])
    assert "two columns are named a" in refusal(path, twice)
    assert "is 16777217: whole numbers above" in refusal(path, pyarrow.table({"a": [16777217], "b": [1]}))


def test_texts_of_a_parquet_file_may_be_missing_or_in_several_groups_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    assert "line 2, column a: the value is missing" in refusal(path, pyarrow.table({"a": ["x", None]}))
    parquet.write_table(pyarrow.table({"a": ["x", "y", "z", "x"], "b": [1, 2, 3, 4]}), path, row_group_size=2)
    assert load_seeds(str(path), SeedForm()).inputs[:, 0].tolist() == [0, 1, 2, 0]

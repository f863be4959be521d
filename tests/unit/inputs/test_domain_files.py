"""Files that say what inputs may be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jostle.domain import Domain
from jostle.errors import UsageError
from jostle.inputs.channel_range import ChannelRange
from jostle.inputs.domain_files import encode_domain
from jostle.inputs.domains import domain_of
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.inputs.table import Table
from jostle.inputs.value_range import ValueRange
from jostle.options.campaign import InputOptions
from jostle.records import Seeds
from making import seeds_of

ROWS = "age,colour,weight,low,high\n30,red,1.5,1,2\n41,blue,2.5,2,2\n52,red,3,0,5\n"


@pytest.fixture
def seeds(tmp_path: Path) -> Seeds:
    (tmp_path / "rows.csv").write_text(ROWS)
    return load_seeds(str(tmp_path / "rows.csv"), SeedForm())


def declared(folder: Path, text: str, seeds: Seeds) -> Domain:
    (folder / "domain.toml").write_text(text)
    return domain_of(seeds, InputOptions(domain=str(folder / "domain.toml")))


def refusal(folder: Path, text: str, seeds: Seeds) -> str:
    with pytest.raises(UsageError) as refused:
        declared(folder, text, seeds)
    assert "\n" not in str(refused.value) and "domain.toml" in str(refused.value)
    return str(refused.value)


def test_what_is_written_is_read_again(tmp_path: Path, seeds: Seeds) -> None:
    images = seeds_of(torch.rand(4, 3, 5, 5))
    domains = {
        inferred_table(torch.rand(9, 3) / 3): seeds_of(torch.rand(9, 3)),
        seeds.domain: seeds,
        ValueRange(-1.0, 1.0, "image"): images,
        ChannelRange((0.0, -1.0, 0.0), (1.0, 2.0, 3.0), "image", 3): images,
    }
    for domain, own in domains.items():
        assert domain is not None
        near = Seeds(domain.nearest(own.inputs, own.inputs), own.labels, own.names, domain)
        assert declared(tmp_path, encode_domain(domain).decode(), near) == domain


def test_a_file_widens_some_columns_and_leaves_the_others_to_the_seeds(tmp_path: Path, seeds: Seeds) -> None:
    text = """
    kind = "table"
    ordered = [["low", "high"]]
    [column.age]
    low = 18
    high = 99
    [column.weight]
    fixed = true
    [column.colour]
    values = ["blue", "red", "green"]
    """
    table = declared(tmp_path, text, seeds)
    assert isinstance(table, Table)
    age, colour, weight, low, high = table.columns
    assert (age.low, age.high, weight.fixed, colour.labels) == (18, 99, True, ("blue", "red", "green"))
    assert (low.low, low.high, high.low, high.high) == (0, 2, 2, 5)
    assert table.nearest(torch.tensor([[120.0, 9, 9, 9, 0]]), seeds.inputs[:1]).tolist() == [[99, 2, 1.5, 2, 2]]


def test_a_file_orders_the_codes_of_a_category(tmp_path: Path, seeds: Seeds) -> None:
    (tmp_path / "order.toml").write_text('kind = "table"\n[column.colour]\nvalues = ["red", "blue"]\n')
    again = load_seeds(str(tmp_path / "rows.csv"), SeedForm(domain=str(tmp_path / "order.toml")))
    assert again.inputs[:, 1].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('kind = "table"\n[column.age]\nhigh = 50', "excludes its own seed"),
        ('kind = "table"\n[column.age]\nhigh = 50', "age is 52, above 50"),
        ('kind = "table"\n[column.age]\nhihg = 50', "column.age.hihg: unknown key, did you mean 'high'?"),
        ('kind = "table"\n[column.aeg]\nhigh = 50', "there is no column aeg: did you mean age?"),
        ('kind = "table"\n[column.age]\nhigh = "many"', "column.age.high: give a number"),
        ('kind = "table"\n[column.age]\nlow = 60\nhigh = 50', "column.age.low: 60 is above high"),
        ('kind = "table"\n[column.age]\nkind = "whole"', "column.age.kind: 'whole' is unknown: choose from real"),
        ('kind = "table"\n[column.age]\nlow = 0.5', "integers have whole numbers"),
        ('kind = "table"\n[column.age]\nvalues = [30, 41]', 'write kind = "category"'),
        ('kind = "table"\n[column.colour]\nkind = "real"', "the column holds text"),
        ('kind = "table"\n[column.age]\nkind = "category"\nvalues = [30, 41]', "age is 52, none of 30/41"),
        ('kind = "table"\n[column.age]\nfixed = 1', "column.age.fixed: give true or false"),
        ('kind = "table"\nsums_to_one = [["age", "weight"]]', "all real, or all boolean"),
        ('kind = "table"\nordered = [["age", "hight"]]', "there is no column hight: did you mean high?"),
        ('kind = "table"\nordered = ["age"]', 'such as [["a", "b"]]'),
        ('kind = "table"\nordered = [["low", "high"], ["high", "age"]]', "high stands in two groups"),
        ('kind = "table"\nordered = [["high", "low"]]', "must not fall"),
        ('kind = "table"\ncolumn = 3', "column: give tables, such as [column.NAME]"),
        ('kind = "tabel"', "kind: 'tabel' is unknown: did you mean table?"),
        ("low = 0", "kind: '' is unknown: choose from"),
        ('kind = "image"\nlow = 0\nhigh = 1', 'are of kind "array"'),
        ('kind = "table', "cannot be read: give a TOML file"),
    ],
)
def test_what_is_wrong_is_told_with_the_file_and_the_key(tmp_path: Path, seeds: Seeds, text: str, problem: str) -> None:
    assert problem in refusal(tmp_path, text, seeds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("low = [0, 0]\nhigh = 1", "low: 2 numbers: give one, or one for each of 3 channels"),
        ("low = 0\nhigh = [1, 0, 1]", "each low must be below its high"),
        ("low = 0\nhigh = [1, 0.5, 1]", "a value of channel 1 is"),
        ("low = 0", "high: give a number"),
        ("low = 0\nhigh = 1\ncolumn = 3", "column: unknown key"),
    ],
)
def test_the_values_of_images_are_checked_by_channel(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in refusal(tmp_path, f'kind = "image"\n{text}', seeds_of(torch.linspace(0, 1, 75).view(1, 3, 5, 5)))


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path, seeds: Seeds) -> None:
    with pytest.raises(UsageError, match="it does not exist"):
        domain_of(seeds, InputOptions(domain=str(tmp_path / "none.toml")))
    assert "larger than" in refusal(tmp_path, "#" * (17 * 2**20), seeds)


def test_rows_of_numbers_are_a_table_unless_a_range_is_given() -> None:
    rows = seeds_of(torch.rand(9, 3) * 500)
    assert isinstance(domain_of(rows, InputOptions()), Table)
    assert domain_of(rows, InputOptions(range=(0.0, 500.0))) == ValueRange(0, 500)
    assert domain_of(seeds_of(torch.rand(9, 1, 3, 3)), InputOptions()) == ValueRange(0, 1, "image")


def test_a_range_is_refused_for_a_table_with_columns_of_their_own(seeds: Seeds) -> None:
    with pytest.raises(UsageError, match="--range is one for all values"):
        domain_of(seeds, InputOptions(range=(0.0, 1.0)))

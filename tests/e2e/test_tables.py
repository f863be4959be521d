"""Tables from the command line: planted defects are found, domains kept, files edited and given back."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import Ended

from jostle.cli.terminal import Exit

EXAMPLES = Path(__file__).parents[2] / "examples"
LOANS = ("--seeds", str(EXAMPLES / "loans.csv"))
Run = Callable[..., Ended]


@pytest.fixture
def fuzz(jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(model: str, *more: str) -> Ended:
        return jostle("fuzz", f"{EXAMPLES / 'loans.py'}:{model}", *LOANS, "--executions", "3000", "--out", "out", *more)

    return run


def changes(out: Path) -> list[dict[str, tuple[str, str]]]:
    """Of each finding by column, what seed and input hold."""
    texts = [path.read_text().splitlines()[1:] for path in sorted(out.glob("findings/*/change.txt"))]
    return [{line.split()[0]: (line.split()[1], line.split()[2]) for line in lines} for lines in texts]


def test_a_year_more_that_turns_the_answer_is_found_by_the_plain_command(fuzz: Run, tmp_path: Path) -> None:
    ended = fuzz("approval")
    assert ended.code == Exit.FINDINGS and "labels are those of column label" in ended.err
    found = changes(tmp_path / "out")
    assert found and all(int(one["age"][1]) % 10 == 0 for one in found)
    assert all("contract" not in one and len(one) <= 3 for one in found)


def test_a_category_that_gives_nan_is_found_and_shown_by_its_name(fuzz: Run, tmp_path: Path) -> None:
    assert fuzz("scored", "--oracle", "nan", "--json").json()["findings"] == {"nan": 1}
    (found,) = changes(tmp_path / "out")
    assert found["contract"][1] == "temporary" or found["months"][1] == "0"


def test_everything_that_is_kept_stays_in_the_domain_of_the_seeds(fuzz: Run, tmp_path: Path) -> None:
    fuzz("approval", "--mutator", "table,noise", "--joint", "0.5")
    with (EXAMPLES / "loans.csv").open() as file:
        ages = [int(row["age"]) for row in csv.DictReader(file)]
    inputs = np.stack([np.load(path) for path in (tmp_path / "out").glob("findings/*/input.npy")])
    assert len(inputs) and inputs[:, 0].min() >= min(ages) and inputs[:, 0].max() <= max(ages)
    assert np.array_equal(inputs[:, [0, 3, 4, 5]], inputs[:, [0, 3, 4, 5]].round())


def test_a_domain_that_is_saved_can_be_edited_and_given_back(fuzz: Run, jostle: Run, tmp_path: Path) -> None:
    fuzz("approval")
    saved = (tmp_path / "out" / "domain.toml").read_text()
    edited = saved.replace("[column.age]\n", "[column.age]\nfixed = true\n")
    (tmp_path / "mine.toml").write_text(edited)
    assert fuzz("approval", "--domain", "mine.toml").code == Exit.USAGE  # another campaign than the one in out
    ended = fuzz("approval", "--domain", "mine.toml", "--out", "other")
    assert ended.code == Exit.CLEAN and "1 fixed" in ended.err
    (tmp_path / "mine.toml").write_text(saved)
    ended = fuzz("approval", "--domain", "mine.toml", "--out", "other")
    assert ended.code == Exit.USAGE and "changed: mine.toml" in ended.err  # its content is what makes a campaign


def test_a_campaign_over_a_table_goes_on_and_is_replayed(fuzz: Run, jostle: Run, tmp_path: Path) -> None:
    fuzz("approval")
    again = fuzz("approval", "--executions", "4000", "--json").json()
    assert again["executions"] == 4000
    finding = next((tmp_path / "out" / "findings").iterdir())
    assert jostle("replay", str(finding)).code == Exit.FINDINGS


def test_a_table_of_plain_numbers_keeps_its_columns_without_a_range(jostle: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((50, 2)) * [0.1, 500] + [0.05, 100]
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "net.py").write_text("def net(rows):\n    return rows / rows.sum(1, keepdim=True)\n")
    model, seeds = f"{tmp_path / 'net.py'}:net", str(tmp_path / "rows.npy")
    ended = jostle("fuzz", model, "--seeds", seeds, "--executions", "2000", "--out", str(tmp_path / "out"))
    assert ended.code == Exit.CLEAN and "table of 2 columns (2 real)" in ended.err
    record = json.loads((tmp_path / "out" / "config.json").read_text())
    assert record["mutator"] == ["table"] and record["range"] is None


@pytest.mark.parametrize(
    ("domain", "more", "problem"),
    [
        ('kind = "table"\n[column.age]\nhigh = 40', "", "age is "),
        ('kind = "table"\n[column.age]\nhigh = 40', "", "above 40): widen it there"),
        ('kind = "table"\n[column.agee]\nhigh = 40', "", "there is no column agee: did you mean age?"),
        ('kind = "table"', "--range 0,1", "leave out --range"),
        ('kind = "table"\n[column.contract]\nvalues = ["open"]', "", "which --domain does not list"),
        ('kind = "table"', "--label lable", "is unknown: did you mean label?"),
    ],
)
def test_what_does_not_fit_is_one_line_and_nothing_is_written(
    fuzz: Run, tmp_path: Path, domain: str, more: str, problem: str
) -> None:
    (tmp_path / "mine.toml").write_text(domain)
    ended = fuzz("approval", "--domain", "mine.toml", *more.split())
    assert ended.code == Exit.USAGE and problem in ended.err and len(ended.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]

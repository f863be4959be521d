"""Seeds from tables with headers: CSV and parquet files."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from torch import Tensor

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.inputs.inferred_table import inferred_table
from jostle.layout import WHOLE_UP_TO
from jostle.options.choices import unknown
from jostle.records import NO_LABEL, Seeds
from jostle.untrusted.files import check_regular, opened_bounded

TABLES = (".csv", ".parquet")
LABEL_COLUMNS = ("label", "target", "y")  # columns that are labels unless the user says which
MISSING = {"", "na", "n/a", "nan", "null", "none"}  # cells of columns of numbers
TRUTHS = {"true": 1.0, "false": 0.0}
DELIMITERS = ",;\t"
WHOLE = re.compile(r"[+-]?\d+")
MOST_CELLS = 20_000_000  # each of up to a hundred bytes while it is read
MOST_BYTES = 256 * 2**20  # of a CSV file, and of what a parquet file unpacks to
LONGEST_NAME = 1000  # characters of a column's name, which messages repeat
LONGEST_LINE = 10_000_000  # characters of a CSV file, also of its header
Orders = Mapping[str, Sequence[str]]  # by column, the values of a category in the order that gives their codes


class Cells:
    """The columns of a file by name; a cell is a text, or a number, or None where it is missing."""

    def __init__(self, source: str, columns: Mapping[str, list[Any]], lines: Sequence[int]):
        self.source, self.columns, self._lines = source, columns, lines  # the line of each row

    def place(self, row: int, name: str) -> str:
        """Where a cell is, as a person counts."""
        return f"{self.source} line {self._lines[row]}, column {name}"


def seeds_from_table(path: Path, label: str | None, orders: Orders) -> Seeds:
    """All columns of the file as inputs, but for the labels."""
    read = _csv if path.suffix == ".csv" else _parquet
    cells = attempt(partial(read, path))
    if isinstance(cells, Crash):
        raise SeedsRefused(
            f"{path} is not a readable table: give a {path.suffix} file with headers ({cells.message or cells.error})"
        )
    chosen = _label_column(cells, label)
    names = [name for name in cells.columns if name != chosen]
    if not names:
        raise SeedsRefused(f"{path} has no columns besides the label {chosen}: there is nothing to change")
    columns = {name: _numbers(cells, name, orders.get(name, ())) for name in names}
    inputs = torch.stack([values for values, _ in columns.values()], dim=1)  # [seeds, columns]
    texts = {place: labels for place, (_, labels) in enumerate(columns.values()) if labels}
    rows = tuple(f"{path}[{row}]" for row in range(len(inputs)))
    return Seeds(inputs, _labels(cells, chosen), rows, inferred_table(inputs, names, texts, chosen or ""))


def _csv(path: Path) -> Cells:
    check_regular(path)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes: keep fewer rows, or give an .npy file")
    with io.TextIOWrapper(opened_bounded(path, MOST_BYTES), encoding="utf-8-sig", newline="") as file:
        heading = next(_lines(file))
        file.seek(0)
        rows = csv.reader(_lines(file), delimiter=max(DELIMITERS, key=heading.count), strict=True)
        header = [name.strip() for name in next(rows)]
        _check_header(header)
        most = MOST_CELLS // len(header)
        filled = ((rows.line_num, _checked_row(header, row, rows.line_num)) for row in rows if row)
        body = list(itertools.islice(filled, most + 1))
    if len(body) > most:
        raise ValueError(f"it holds more than {MOST_CELLS:,} values: keep fewer rows, or give an .npy file")
    if not body:
        raise ValueError("it has a header and no rows")
    lines, values = zip(*body, strict=True)
    return Cells(str(path), dict(zip(header, map(list, zip(*values, strict=True)), strict=True)), lines)


def _lines(file: TextIO) -> Iterator[str]:
    """The lines of a file, none of which fills memory."""
    for line in iter(partial(file.readline, LONGEST_LINE + 1), ""):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line has more than {LONGEST_LINE:,} characters: end each row with a new line")
        if "\0" in line:
            raise ValueError("it holds a NUL, which no text does: save it as UTF-8")
        yield line


def _check_header(header: list[str]) -> None:
    if all(_number(name) is not None for name in header):
        raise ValueError("its first line holds numbers: write the names of the columns there")
    seen: set[str] = set()
    for place, name in enumerate(header):
        if not name:
            raise ValueError(f"column {place + 1} has no name: name it, or leave it out (pandas: index=False)")
        if len(name) > LONGEST_NAME:
            raise ValueError(f"the name of column {place + 1} has {len(name):,} characters: shorten it")
        if name in seen:
            raise ValueError(f"two columns are named {name}: rename one")
        seen.add(name)


def _checked_row(header: list[str], row: list[str], line: int) -> list[str]:
    if len(row) != len(header):
        raise ValueError(f"line {line} has {len(row)} values, and the header has {len(header)}: mend that line")
    return [cell.strip() for cell in row]


def _parquet(path: Path) -> Cells:
    check_regular(path)
    try:
        from jostle.inputs import parquet_files
    except ImportError:
        raise ValueError("it needs pyarrow: pip install 'jostle[tables]', or save the table as .csv") from None
    header, columns = parquet_files.columns_of(path, MOST_CELLS, MOST_BYTES)
    _check_header(header)
    return Cells(str(path), dict(zip(header, columns, strict=True)), range(1, 1 + len(columns[0])))


def _label_column(cells: Cells, label: str | None) -> str | None:
    if label is None:
        return next((name for name in LABEL_COLUMNS if name in cells.columns), None)
    if label not in cells.columns:
        raise SeedsRefused(f"--label {unknown(label, cells.columns)}")
    return label


def _numbers(cells: Cells, name: str, order: Sequence[str]) -> tuple[Tensor, tuple[str, ...]]:
    """A column as numbers [seeds], and what its codes stand for if it holds text."""
    column = cells.columns[name]
    if _is_text(column):
        texts = [_present(cells, name, row, cell) for row, cell in enumerate(column)]
        labels = tuple(order or sorted(set(texts)))
        codes = {text: float(code) for code, text in enumerate(labels)}
        for row, text in enumerate(texts):
            if text not in codes:
                raise SeedsRefused(
                    f"{cells.place(row, name)} is {text!r}, which --domain does not list: add it to values"
                )
        return torch.tensor([codes[text] for text in texts]), labels
    numbers = [_number(cell) for cell in column]
    if None in numbers:
        _refuse_missing(cells, name, numbers.index(None))
    _check_whole(cells, name, np.array(numbers, dtype=np.float64))
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinity, which pre-flight refuses
        return torch.from_numpy(np.array(numbers, dtype=np.float64).astype(np.float32)), ()


def _check_whole(cells: Cells, name: str, numbers: np.ndarray[Any, Any]) -> None:
    """Refuses whole numbers [seeds] that float32 rounds."""
    column = cells.columns[name]
    for row in np.flatnonzero(np.abs(numbers) > WHOLE_UP_TO).tolist():
        if isinstance(column[row], int) or (isinstance(column[row], str) and WHOLE.fullmatch(column[row])):
            raise SeedsRefused(
                f"{cells.place(row, name)} is {str(column[row])[:40]}: whole numbers above {WHOLE_UP_TO} are not told "
                f"apart: number them lower, or write them with a decimal point"
            )


def _is_text(column: Sequence[Any]) -> bool:
    """Whether some cell is neither a number nor missing."""
    return any(_number(cell) is None and cell is not None and str(cell).lower() not in MISSING for cell in column)


def _present(cells: Cells, name: str, row: int, cell: Any) -> str:
    if cell is None or cell == "":
        _refuse_missing(cells, name, row)
    return str(cell)


def _refuse_missing(cells: Cells, name: str, row: int) -> None:
    raise SeedsRefused(f"{cells.place(row, name)}: the value is missing: fill it in, or leave that row out")


def _number(cell: Any) -> float | None:
    """A number, also true and false; None of what is none."""
    if cell is None or (isinstance(cell, str) and cell.lower() in MISSING):
        return None
    try:
        number = TRUTHS.get(cell.lower()) if isinstance(cell, str) else None
        number = float(cell) if number is None else number
    except (TypeError, ValueError, OverflowError):
        return None
    return None if number != number else number


def _labels(cells: Cells, name: str | None) -> Tensor:
    """Whole numbers from 0 as classes, and text by sorted order; other numbers as they are."""
    if name is None:
        return torch.full((len(next(iter(cells.columns.values()))),), NO_LABEL)
    numbers, texts = _numbers(cells, name, ())
    classes = bool(texts) or bool(((numbers == numbers.round()) & (numbers >= 0)).all())
    return numbers.long() if classes else numbers

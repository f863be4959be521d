"""Columns of parquet files, which never unpack to more than they may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from jostle.untrusted.files import LARGEST_MODEL, opened_bounded

LONGEST = 10_000  # characters of a text, which is read again for each row
TEXT = "BYTE_ARRAY"  # the physical type of texts and bytes
SHARED_STARTS = "DELTA_BYTE_ARRAY"  # an encoding in which a value is a few bytes and the start of the one before


def columns_of(path: Path, most_cells: int, most_bytes: int) -> tuple[list[str], list[list[Any]]]:
    """The names of columns, and the values of each, of which equal texts are one object."""
    with opened_bounded(path, LARGEST_MODEL) as opened, parquet.ParquetFile(opened) as file:
        _check_flat(file.schema_arrow)
        _check_size(file, most_cells, most_bytes)
        texts = [column.path for column in _schema(file) if column.physical_type == TEXT]
    with opened_bounded(path, LARGEST_MODEL) as opened, parquet.ParquetFile(opened, read_dictionary=texts) as file:
        table = file.read()
    return list(table.column_names), [_values(column) for column in table.columns]


def _check_flat(schema: pyarrow.Schema) -> None:
    for field in schema:
        if pyarrow.types.is_nested(field.type):
            raise ValueError(f"column {field.name} holds {field.type}: save a column for each of its values")


def _check_size(file: parquet.ParquetFile, most_cells: int, most_bytes: int) -> None:
    cells = file.metadata.num_rows * file.metadata.num_columns
    if not 0 < cells <= most_cells:
        raise ValueError(f"it says that it holds {cells:,} values, and may hold 1 to {most_cells:,}")
    size = sum(_unpacked(file, place, column) for place, column in enumerate(_schema(file)))
    if size > most_bytes:
        raise ValueError(f"it may unpack to {size:,} bytes, more than {most_bytes:,}: save it as .csv")


def _unpacked(file: parquet.ParquetFile, place: int, column: Any) -> int:
    """How many bytes a column may have in memory, where equal texts are held once."""
    rows = file.metadata.num_rows
    groups = [file.metadata.row_group(number).column(place) for number in range(file.metadata.num_row_groups)]
    size = sum(group.total_uncompressed_size for group in groups)
    shared = any(SHARED_STARTS in group.encodings for group in groups)
    return int(max(size * (rows if shared else 1), rows * max(0, column.length)))


def _schema(file: parquet.ParquetFile) -> list[Any]:
    return [file.schema.column(place) for place in range(file.metadata.num_columns)]


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    return [value for chunk in column.chunks for value in _chunk_values(chunk)]


def _chunk_values(chunk: pyarrow.Array) -> list[Any]:
    if not pyarrow.types.is_dictionary(chunk.type):
        return list(chunk.to_pylist())
    values = [*chunk.dictionary.to_pylist(), None]
    longest = max((len(value) for value in values if isinstance(value, str | bytes)), default=0)
    if longest > LONGEST:
        raise ValueError(f"it holds a text of {longest:,} characters, and may hold {LONGEST:,}: leave that column out")
    return [values[-1 if place is None else place] for place in chunk.indices.to_pylist()]

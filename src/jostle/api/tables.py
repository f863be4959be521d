"""Defects as a table."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from jostle.errors import UsageError
from jostle.storage.defect_record import Defect

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("name", "kind", "title", "what", "mutation", "layer", "seeds", "findings", "weight", "unstable")


def table_of(defects: Sequence[Defect]) -> DataFrame:
    """A row for each defect."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise UsageError("to_pandas needs pandas: pip install 'jostle[notebook]'") from error
    frame: DataFrame = pandas.DataFrame([_row(defect) for defect in defects], columns=list(COLUMNS))
    return frame


def _row(defect: Defect) -> tuple[object, ...]:
    cause = defect.cause
    told = (defect.name, cause.kind, defect.title, cause.what, cause.mutation, cause.layer)
    return (*told, defect.seeds, len(defect.findings), defect.weight, defect.unstable)

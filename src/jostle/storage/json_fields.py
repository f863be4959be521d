"""Fields of a JSON record, each read as its type; ValueError names one that is missing or of another type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]
LARGEST = 2**63 - 1  # of whole numbers, as arrays hold them


def text(record: Record, name: str) -> str:
    value = _given(record, name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def flag(record: Record, name: str) -> bool:
    value = _given(record, name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")
    return value


def whole(record: Record, name: str) -> int:
    value = _given(record, name)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise ValueError(f"{name} is no whole number of 64 bits")
    return value


def number(record: Record, name: str) -> float:
    """A number, or the name of one that is not finite, as `files.portable` writes it."""
    value = _given(record, name)
    if value in ("nan", "inf", "-inf"):
        return float(value)
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # JSON's integers have no bound
        pass
    raise ValueError(f"{name} is no number")


def texts(record: Record, name: str) -> tuple[str, ...]:
    value = _given(record, name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} is no list of texts")
    return tuple(value)


def fields(record: Record, name: str) -> dict[str, Any]:
    """A record within the record."""
    return json_object(_given(record, name), name)


def records(record: Record, name: str) -> list[dict[str, Any]]:
    """A list of records within the record."""
    value = _given(record, name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return [json_object(one, f"an entry of {name}") for one in value]


def counts(record: Record, name: str) -> dict[str, int]:
    """Whole numbers by name."""
    within = fields(record, name)
    return {key: whole(within, key) for key in within}


def json_object(value: Any, name: str = "it") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no JSON object")
    return value


def _given(record: Record, name: str) -> Any:
    if name not in record:
        raise ValueError(f"{name} is not there")
    return record[name]

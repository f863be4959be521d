"""Records with one thing wrong, made of right ones: a value of another kind, gone, extreme, or one more."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Json = Any
# In place of a value: another kind of value, none, too much of it, what no array holds.
WRONG: tuple[Json, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**63, -(2**63) - 1, 10**39, float("inf"), float("nan"), 1e308),
    *("", "x", "nan", "-inf", "\0", "\ud800", "x" * 10_000, "../../x", [], [[]], {}, [None], ["x"] * 1000, {"": 0}),
    *({"x": {"x": {}}}, [1, "x", None], [[[[[[1]]]]]]),
)


def malformed(record: Json) -> Iterator[Json]:
    """Copies of a record, each with one thing wrong, wherever it stands."""
    for path in _paths(record):
        for value in WRONG:
            yield _with(record, path, lambda holder, key, value=value: holder.__setitem__(key, value))
        yield _with(record, path, lambda holder, key: holder.__delitem__(key))
    yield from ({**record, "more": value} for value in WRONG)
    yield from WRONG


def _paths(value: Json, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value stands, from the outside in; of a list only its ends are looked at."""
    if above:
        yield above
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*above, key))
    elif isinstance(value, list):
        for place in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from _paths(value[place], (*above, place))


def _with(record: Json, path: tuple[Any, ...], change: Any) -> Json:
    changed = copy.deepcopy(record)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return changed

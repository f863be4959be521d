"""JSON from strangers: of bounded size, depth and numbers, whichever file it stands in; ValueError says what is not."""

from __future__ import annotations

import json
from typing import Any

VALUES = 4_000_000  # each takes up to a hundred bytes in memory
DEEPEST = 100  # levels, of which we write fewer than ten
OF_MODELS = 400  # levels of a model's configuration
DIGITS = 40  # of a whole number; 20 hold all of 64 bits


def parsed_json(content: bytes | str, deepest: int = DEEPEST) -> Any:
    """What JSON in UTF-8 says, if Python can hold it and work with it."""
    check_values(content)
    try:
        value = json.loads(content if isinstance(content, str) else content.decode("utf-8"), parse_int=_whole)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"its JSON is damaged ({error}); get it again") from error
    _check_depth(value, deepest)
    return value


def check_values(content: bytes | str) -> None:
    """JSON without more values than fit into memory."""
    signs = (",", ":", "[", "{")
    count = sum(
        map(content.count, signs) if isinstance(content, str) else (content.count(one.encode()) for one in signs)
    )
    if count > VALUES:
        raise ValueError(f"its JSON holds more than {VALUES} values")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"its JSON holds a number of {len(digits)} digits, more than {DIGITS}")
    return int(digits)


def _check_depth(value: Any, left: int) -> None:
    if left == 0:
        raise ValueError("its JSON is nested too deeply")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, left - 1)

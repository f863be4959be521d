"""What a script gives in place of names: models, seeds, properties and parts that are objects already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from jostle.errors import UsageError
from jostle.held import Holder

# Options that name Python or files, and so may be given as what they would name.
ONE = ("model", "metadata", "tokenizer", "profile", "scheduler")
SEVERAL = ("twin", "models", "oracle", "mutator", "coverage")


def by_name(holder: Holder, values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a script with a name in place of each object."""
    one = {name: _named(holder, values[name]) for name in ONE if name in values}
    several = {name: _each_named(holder, values[name]) for name in SEVERAL if name in values}
    return {**values, **one, **several}


def seeds_by_name(holder: Holder, seeds: object, labels: object = None) -> str:
    """The name of seeds: a path or `FILE.py:function` as it is, all else held."""
    if isinstance(seeds, str | Path):
        if labels is not None:
            raise UsageError(f"labels: seeds {seeds} bring theirs, so leave them out, or give both as arrays")
        return str(seeds)
    found = _all_batches(seeds) if isinstance(seeds, DataLoader) else seeds
    if isinstance(found, list):
        found = _stacked(found)
    return holder.hold(found if labels is None else (found, labels), "seeds")


def _stacked(rows: list[Any]) -> object:
    """A list of arrays as one array; texts and numbers as they are."""
    if rows and all(isinstance(row, np.ndarray | Tensor) for row in rows):
        return np.stack([np.asarray(row) for row in rows])
    return lambda: rows


def _each_named(holder: Holder, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    several = value if isinstance(value, list | tuple) else [value]
    return [_named(holder, one) for one in several]


def _named(holder: Holder, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Path):
        return str(value)
    return _file_of_session(value) if type(value).__module__.startswith("onnxruntime") else holder.hold(value)


def _file_of_session(session: Any) -> str:
    """The file that a session of ONNX Runtime runs; it is opened anew, so that layers can be watched."""
    path = getattr(session, "_model_path", None)
    if not path:
        raise UsageError("this ONNX Runtime session was made from bytes: give the .onnx file instead")
    return str(path)


def _all_batches(loader: Iterable[Any]) -> object:
    """What a loader gives, as one array or as inputs and labels."""
    batches = list(loader)
    if not batches:
        raise UsageError("seeds: the DataLoader gives no batch")
    if isinstance(batches[0], Tensor):
        return torch.cat(batches)
    if isinstance(batches[0], dict):
        return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    return tuple(torch.cat(parts) for parts in zip(*batches, strict=True))

"""What a script gives in place of names: models, seeds, properties and parts that are objects already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from jostle.errors import SeedsRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.held import Holder

# Options that name Python or files, and so may be given as what they would name.
ONE = ("model", "metadata", "tokenizer", "scheduler")
SEVERAL = ("twin", "models", "oracle", "mutator", "coverage")
DATA = ("profile",)


def by_name(holder: Holder, values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a script with a name in place of each object, and of each path."""
    texts = {name: _without_paths(value) for name, value in values.items()}
    one = {name: _named(holder, texts[name]) for name in ONE if name in texts}
    several = {name: _each_named(holder, texts[name]) for name in SEVERAL if name in texts}
    data = {name: seeds_by_name(holder, texts[name], called=name) for name in DATA if texts.get(name) is not None}
    return {**texts, **one, **several, **data}


def companions(options: Mapping[str, Any]) -> Iterator[object]:
    """Other models among the options."""
    for name in ("twin", "models"):
        value = options.get(name)
        yield from value if isinstance(value, list | tuple) else (value,)


def seeds_by_name(holder: Holder, seeds: object, labels: object = None, called: str = "seeds") -> str:
    """The name of seeds or other data: a path or `FILE.py:function` as it is, all else held."""
    if labels is not None and not _without_labels(seeds):
        named = isinstance(seeds, str | Path)
        what = f"seeds {seeds} bring theirs" if named else f"a {type(seeds).__name__} as seeds brings its own"
        raise UsageError(f"labels: {what}, so leave them out, or give both as arrays")
    if seeds is None:
        raise UsageError(f"{called} is None: give arrays, a Dataset, a DataLoader, a folder or a file")
    if isinstance(seeds, str | Path):
        return str(seeds)
    found = _whole(called, "the DataLoader", partial(_all_batches, seeds)) if isinstance(seeds, DataLoader) else seeds
    if isinstance(found, list):
        rows = _whole(called, "the list", partial(_stacked, found))
        found = (lambda: rows) if isinstance(rows, list) and labels is None else rows
    return holder.hold(found if labels is None else (found, labels), called)


def _without_labels(seeds: object) -> bool:
    """Whether these are arrays alone: one, a list or a dict of them."""
    return isinstance(seeds, list | dict) or hasattr(seeds, "__array__")


def _whole(called: str, what: str, put_together: Callable[[], object]) -> object:
    """What some parts are together; parts that do not fit together are refused."""
    found = attempt(put_together)
    if isinstance(found, Crash):
        raise SeedsRefused(
            f"{called}: {what} cannot be made one array ({found.error}: {found.message}): give inputs of one shape"
        )
    return found


def _stacked(rows: list[Any]) -> object:
    """A list of arrays as one array; texts and numbers as they are."""
    are_arrays = rows and all(isinstance(row, np.ndarray | Tensor) for row in rows)
    return np.stack([np.asarray(row) for row in rows]) if are_arrays else rows


def _without_paths(value: Any) -> Any:
    """A value with a text in place of each path."""
    if isinstance(value, list | tuple):
        return [_without_paths(one) for one in value] if any(isinstance(one, Path) for one in value) else value
    return str(value) if isinstance(value, Path) else value


def _each_named(holder: Holder, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    several = value if isinstance(value, list | tuple) else [value]
    return [_named(holder, one) for one in several]


def _named(holder: Holder, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
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
        raise SeedsRefused("seeds: the DataLoader gives no batch")
    if isinstance(batches[0], Tensor):
        return torch.cat(batches)
    if isinstance(batches[0], dict):
        return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    parts = tuple(torch.cat(several) for several in zip(*batches, strict=True))
    return parts[0] if len(parts) == 1 else parts

"""Failing tests as safetensors: one file for each step that met some.

Inputs are stored whole and not as changes of their seeds, so that a file can be read without them.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import safetensors.numpy
import torch
from safetensors import SafetensorError
from torch import Tensor

from jostle.digests import digest_of
from jostle.records import NO_LABEL, Failures
from jostle.untrusted.json_text import parsed_json
from jostle.untrusted.tensor_files import opened_tensors

FAILING = "failing"
INPUTS = "inputs"  # [inputs, ...] each once, also where it violates several properties
TEXT = "text"  # bytes: names of kinds, and the mutation that made each input
# Arrays with a number for each test, and their types.
NUMBERS = {
    "input_of": torch.int64,
    "roots": torch.int64,
    "parents": torch.int64,
    "kind_of": torch.int64,
    "bugs": torch.int64,
    "labels": torch.int64,
    "answers": torch.int64,
    "confirmed": torch.bool,
}


def failing_path(folder: Path, step: int) -> Path:
    return folder / FAILING / f"{step:08}.safetensors"


def encode_failing(failing: Failures) -> bytes:
    """A file's content, the same for the same tests."""
    return safetensors.numpy.save({name: array.numpy() for name, array in _arrays(failing).items()})


def digest_of_failing(failing: Failures) -> str:
    """Equal for equal tests."""
    return digest_of(*_arrays(failing).values())


def _arrays(failing: Failures) -> dict[str, Tensor]:
    """What a file holds, in the order of its digest; an input that violates several properties is there once."""
    rows, names = failing.inputs, sorted(set(failing.kinds))
    text = json.dumps({"kinds": names, "mutations": rows.mutations.texts})
    numbers = {
        "input_of": failing.input_of,
        "roots": rows.roots[failing.input_of],
        "parents": rows.parents[failing.input_of],
        "kind_of": torch.tensor([names.index(kind) for kind in failing.kinds], dtype=torch.int64),
        "bugs": failing.bugs,
        "labels": _classes(rows.labels)[failing.input_of],
        "answers": failing.answers,
        "confirmed": failing.confirmed,
    }
    text_bytes = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
    arrays = {INPUTS: rows.inputs, **{name: numbers[name] for name in NUMBERS}, TEXT: text_bytes}
    return {name: array.contiguous() for name, array in arrays.items()}


def _classes(labels: Tensor) -> Tensor:
    """Labels [batch] that are classes; NO_LABEL of those of other tasks."""
    if labels.ndim > 1 or labels.is_floating_point():
        return torch.full((len(labels),), NO_LABEL)
    return labels.long()


def bugs_in(path: Path) -> Counter[tuple[str, int]]:
    """How many tests of a file show each bug, by kind and number, without reading inputs; none of a damaged file."""
    try:
        with opened_tensors(path) as file:
            kinds, bugs, text = (file.get_tensor(name) for name in ("kind_of", "bugs", TEXT))
        names = parsed_json(text.numpy().tobytes())["kinds"]
        return Counter((str(names[kind]), bug) for kind, bug in zip(kinds.tolist(), bugs.tolist(), strict=True))
    except (OSError, SafetensorError, KeyError, IndexError, ValueError, TypeError, RuntimeError):
        return Counter()


def read_arrays(path: Path, digest: str) -> dict[str, Tensor] | None:
    """What a file holds, None if that is not what has this digest."""
    try:
        with opened_tensors(path) as file:
            arrays = {name: file.get_tensor(name) for name in (INPUTS, *NUMBERS, TEXT)}
    except (OSError, SafetensorError, ValueError):
        return None
    fitting = all(arrays[name].shape == arrays["bugs"].shape for name in NUMBERS)
    typed = all(arrays[name].dtype is dtype for name, dtype in NUMBERS.items())
    return arrays if fitting and typed and digest_of(*arrays.values()) == digest else None

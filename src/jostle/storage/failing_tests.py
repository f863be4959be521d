"""Every input that violates a property, as safetensors: one file for each step that met some.

A finding stands for a bug, and is the first input that showed it; these are all of them, which papers count and
retrain with. Inputs are stored whole, so that the files can be read without the campaign's seeds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from jostle.digests import digest_of
from jostle.errors import OutputRefused
from jostle.lineage import Mutation
from jostle.records import NO_LABEL, Failures
from jostle.storage.files import parsed_json
from jostle.storage.journal import JOURNAL, read_journal

FAILING = "failing"
TEXT = "text"  # the array of a file with all that is no number
# Arrays of a file with a number for each test.
NUMBERS = ("input_of", "roots", "parents", "kind_of", "bugs", "labels", "answers", "confirmed")
REPAIR = "let the jostle fuzz command that wrote it go on, which mends it"


@dataclass(frozen=True)
class FailingTests:
    """Tests that failed, once for each property that they violate; row i of every field belongs to test i."""

    inputs: Tensor  # [tests, ...] exactly as they ran
    input_ids: Tensor  # [tests] equal where one input violates several properties
    roots: Tensor  # [tests] positions among the seeds
    steps: Tensor  # [tests] in which they ran; 0 is that of the seeds themselves
    kinds: tuple[str, ...]  # [tests] of what they violate
    bugs: Tensor  # [tests] numbers within a kind, those of findings
    labels: Tensor  # [tests] what their roots should be, NO_LABEL where unknown or no class
    answers: Tensor  # [tests] the classes that the model gave, NO_LABEL where it gave none
    confirmed: Tensor  # [tests] bool: fails as a file gives it back too, where findings must be image files
    parents: Tensor  # [tests] corpus ids, NO_PARENT of seeds
    mutations: tuple[Mutation, ...]  # [tests] what made each from its parent

    def __len__(self) -> int:
        return len(self.kinds)

    def select(self, rows: Tensor) -> FailingTests:
        """These rows, given as positions."""
        chosen = rows.tolist()
        return FailingTests(
            inputs=self.inputs[rows],
            input_ids=self.input_ids[rows],
            roots=self.roots[rows],
            steps=self.steps[rows],
            kinds=tuple(self.kinds[row] for row in chosen),
            bugs=self.bugs[rows],
            labels=self.labels[rows],
            answers=self.answers[rows],
            confirmed=self.confirmed[rows],
            parents=self.parents[rows],
            mutations=tuple(self.mutations[row] for row in chosen),
        )

    def once_each(self) -> FailingTests:
        """Every input once, with the first property that it violates."""
        first = {number: row for row, number in reversed(list(enumerate(self.input_ids.tolist())))}
        return self.select(torch.tensor(sorted(first.values()), dtype=torch.int64))

    @staticmethod
    def none() -> FailingTests:
        """Of a campaign that kept none, so that even the shape of its inputs is unknown."""
        empty = torch.empty(0, dtype=torch.int64)
        return FailingTests(
            torch.empty(0), empty, empty, empty, (), empty, empty, empty, empty.bool(), parents=empty, mutations=()
        )

    @staticmethod
    def joined(parts: Sequence[FailingTests]) -> FailingTests:
        """The tests of several steps, one after another."""
        if not parts:
            return FailingTests.none()
        before = np.cumsum([0, *(int(part.input_ids.max()) + 1 if len(part) else 0 for part in parts[:-1])])
        return FailingTests(
            inputs=torch.cat([part.inputs for part in parts]),
            input_ids=torch.cat([part.input_ids + int(start) for part, start in zip(parts, before, strict=True)]),
            roots=torch.cat([part.roots for part in parts]),
            steps=torch.cat([part.steps for part in parts]),
            kinds=tuple(kind for part in parts for kind in part.kinds),
            bugs=torch.cat([part.bugs for part in parts]),
            labels=torch.cat([part.labels for part in parts]),
            answers=torch.cat([part.answers for part in parts]),
            confirmed=torch.cat([part.confirmed for part in parts]),
            parents=torch.cat([part.parents for part in parts]),
            mutations=tuple(mutation for part in parts for mutation in part.mutations),
        )


def failing_path(folder: Path, step: int) -> Path:
    return folder / FAILING / f"{step:08}.safetensors"


def read_failing(folder: Path) -> FailingTests:
    """The failing tests that the campaign in this folder kept so far, none of one that kept none.

    Nothing is changed, so the campaign may be running.
    """
    journal = read_journal(folder / JOURNAL)
    if journal.damaged:
        raise OutputRefused(f"{folder / JOURNAL} is damaged from step {len(journal.lines)} on: {REPAIR}")
    parts = []
    for line in journal.lines:
        if line.failing:
            tests = read_step(failing_path(folder, line.step), line.step, line.failing_digest)
            if tests is None:
                raise OutputRefused(f"the failing tests in {folder} are damaged at step {line.step}: {REPAIR}")
            parts.append(tests)
    return FailingTests.joined(parts)


def read_step(path: Path, step: int, digest: str) -> FailingTests | None:
    """The failing tests of one step, None if they are not those that the journal tells of."""
    try:
        arrays = _arrays_in(path)
        return _decoded(arrays, step) if digest_of(*arrays.values()) == digest else None
    except (OSError, SafetensorError, KeyError, IndexError, ValueError, TypeError):
        return None


def encode_failing(failing: Failures) -> bytes:
    """A file's content, the same for the same tests."""
    return safetensors.numpy.save({name: array.numpy() for name, array in _arrays(failing).items()})


def digest_of_failing(failing: Failures) -> str:
    """Equal for equal tests."""
    return digest_of(*_arrays(failing).values())


def _arrays(failing: Failures) -> dict[str, Tensor]:
    """What a file holds, in the order of its digest; an input that violates several properties is there once."""
    rows, names = failing.inputs, sorted(set(failing.kinds))
    text = json.dumps({"kinds": names, "mutations": [str(mutation) for mutation in rows.mutations]})
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
    ordered = {name: numbers[name].contiguous() for name in NUMBERS}
    return {
        "inputs": rows.inputs.contiguous(),
        **ordered,
        TEXT: torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8),
    }


def _classes(labels: Tensor) -> Tensor:
    """Labels [batch] that are classes; NO_LABEL of those of other tasks."""
    if labels.ndim > 1 or labels.is_floating_point():
        return torch.full((len(labels),), NO_LABEL)
    return labels.long()


def _arrays_in(path: Path) -> dict[str, Tensor]:
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in ("inputs", *NUMBERS, TEXT)}


def _decoded(arrays: dict[str, Tensor], step: int) -> FailingTests:
    text = parsed_json(arrays[TEXT].numpy().tobytes())
    input_of = arrays["input_of"]
    return FailingTests(
        inputs=arrays["inputs"].index_select(0, input_of),
        input_ids=input_of,
        roots=arrays["roots"],
        steps=torch.full_like(input_of, step),
        kinds=tuple(str(text["kinds"][number]) for number in arrays["kind_of"].tolist()),
        bugs=arrays["bugs"],
        labels=arrays["labels"],
        answers=arrays["answers"],
        confirmed=arrays["confirmed"],
        parents=arrays["parents"],
        mutations=tuple(Mutation.parsed(str(text["mutations"][row])) for row in input_of.tolist()),
    )

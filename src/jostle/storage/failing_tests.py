"""The failing tests of a campaign: every input that violates a property, read from its folder.

A finding stands for a bug, and is the first input that showed it; these are all of them, which papers count and
retrain with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.lineage import Mutation
from jostle.storage.failing_files import TEXT, bugs_in, failing_path, read_arrays
from jostle.storage.journal import JOURNAL, REPAIR, JournalLine, read_journal
from jostle.untrusted.json_text import parsed_json

MOST_VIOLATED = 100  # properties, by one input


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

    @property
    def form(self) -> tuple[torch.Size, torch.dtype]:
        """Of one input."""
        return self.inputs.shape[1:], self.inputs.dtype

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
        parts = [part for part in parts if len(part)]
        if not parts:
            return FailingTests.none()
        starts = accumulate((int(part.input_ids.max()) + 1 for part in parts), initial=0)
        return FailingTests(
            inputs=torch.cat([part.inputs for part in parts]),
            input_ids=torch.cat([part.input_ids + start for part, start in zip(parts, starts, strict=False)]),
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
            tests = _of_step(folder, line)
            if tests is None:
                raise OutputRefused(f"the failing tests in {folder} are damaged at step {line.step}: {REPAIR}")
            parts.append(tests)
            if tests.form != parts[0].form:
                raise OutputRefused(f"the failing tests in {folder} change their shape at step {line.step}: {REPAIR}")
    return FailingTests.joined(parts)


@dataclass(frozen=True)
class FailingCounts:
    """How many failing tests a campaign met and kept."""

    met: int = 0
    kept: int = 0
    by_bug: Mapping[tuple[str, int], int] = field(default_factory=dict)  # those that can be read, by kind and number

    @property
    def unreadable(self) -> int:
        return self.kept - sum(self.by_bug.values())


def count_failing(folder: Path) -> FailingCounts:
    """The failing tests of the campaign in this folder, counted without reading their inputs.

    What is damaged is left out, and nothing is changed, so the campaign may be running.
    """
    lines = read_journal(folder / JOURNAL).lines
    by_bug = sum((bugs_in(failing_path(folder, line.step)) for line in lines if line.failing), Counter())
    return FailingCounts(sum(line.failed for line in lines), sum(line.failing for line in lines), by_bug)


def _of_step(folder: Path, line: JournalLine) -> FailingTests | None:
    """What a step kept of them, None if the file does not hold what the journal tells of."""
    arrays = read_arrays(failing_path(folder, line.step), line.failing_digest)
    try:
        return None if arrays is None else _decoded(arrays, line.step)
    except (KeyError, IndexError, RuntimeError, ValueError, TypeError):
        return None


def _decoded(arrays: Mapping[str, Tensor], step: int) -> FailingTests:
    text = parsed_json(arrays[TEXT].numpy().tobytes())
    input_of = arrays["input_of"]
    _check_few_each(input_of)
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


def _check_few_each(input_of: Tensor) -> None:
    """An input violates a few properties; were it named without end, its copies would fill the memory."""
    _, counts = torch.unique(input_of, return_counts=True)
    if len(counts) and int(counts.max()) > MOST_VIOLATED:
        raise ValueError(f"an input violates more than {MOST_VIOLATED} properties")

"""Any predicate of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from jostle.digests import bug_number
from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.held import shown_name
from jostle.named_objects import find_object
from jostle.records import MODEL, Candidates, Trace, Verdicts, Violation

PROPERTY = "property"  # the kind of what such predicates find
ANSWER = "output"  # the name of the output that carries the answer


@dataclass(frozen=True)
class Element:
    """What a property sees: one input, or the whole batch with a leading dimension."""

    input: Tensor
    reference: Tensor  # its root seed
    label: Tensor
    output: Tensor
    outputs: Mapping[str, Tensor]  # by variant: model, twin
    activations: Mapping[str, Tensor]
    metadata: Mapping[str, Tensor]
    all_outputs: Mapping[str, Tensor] = field(default_factory=dict)  # by name: output is the answer, output.boxes more
    seed_outputs: Mapping[str, Tensor] = field(default_factory=dict)  # the same of the root seed

    @property
    def seed_output(self) -> Tensor:
        """What the model said of the root seed."""
        return self.seed_outputs[ANSWER]


class Property:
    """A user's function that is true of an input that shows a defect, called per batch or per element."""

    looks_inside = True
    compares_with_truth = False

    def __init__(self, name: str, function: Callable[[Element], Any]):
        self._name = shown_name(name)
        self._function = function
        self._takes_batches: bool | None = None  # settled on the first batch

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        batch = Element(
            input=candidates.inputs,
            reference=candidates.references,
            label=candidates.labels,
            output=trace.outputs[MODEL],
            outputs=trace.outputs,
            activations=trace.activations,
            metadata=trace.metadata,
            all_outputs={ANSWER: trace.outputs[MODEL], **trace.others},
            seed_outputs=_of_seeds(candidates),
        )
        violating = self._asked(batch, len(candidates))
        violation = Violation(
            PROPERTY, f"{PROPERTY}:{self._name}", f"property {self._name.rpartition(':')[2]} is violated"
        )
        number = torch.full((len(candidates),), bug_number(violation.fingerprint))

        def describe(row: int) -> Violation:
            shown = {name: value[row].tolist() for name, value in trace.metadata.items() if value[row].numel() <= 64}
            return Violation(violation.kind, violation.fingerprint, violation.summary, shown)

        return Verdicts.where(PROPERTY, trace, violating, number, describe)

    def _asked(self, batch: Element, rows: int) -> Tensor:
        """[batch] bool. Meant for batches is a function that says of the first batch what it says row by row."""
        if self._takes_batches is None:
            self._takes_batches = self._seems_batched(batch, rows)
        if self._takes_batches:
            answers = attempt(lambda: self._of_batch(batch))
            if isinstance(answers, Tensor) and answers.shape == (rows,):
                return answers
            self._takes_batches = False  # on the first batch the shape fitted by chance
        answers = attempt(lambda: self._row_by_row(batch, rows))
        if isinstance(answers, Crash):
            why = f"{answers.error} in {answers.where}: {answers.message}"
            raise UsageError(f"property {self._name} takes neither a batch nor one element ({why}): fix that function")
        return answers

    def _seems_batched(self, batch: Element, rows: int) -> bool:
        together = attempt(lambda: self._of_batch(batch))
        alone = attempt(lambda: self._row_by_row(batch, rows))
        if isinstance(together, Crash) or together.shape != (rows,):
            return False
        return isinstance(alone, Crash) or torch.equal(together, alone)

    def _of_batch(self, batch: Element) -> Tensor:
        return torch.as_tensor(self._function(batch)).bool()

    def _row_by_row(self, batch: Element, rows: int) -> Tensor:
        answers = [torch.as_tensor(self._function(_row(batch, row))) for row in range(rows)]
        return torch.tensor([bool(answer) for answer in answers])  # raises for more than one value


def _of_seeds(candidates: Candidates) -> dict[str, Tensor]:
    """What the model returned for the root seeds, by name; nothing if it was not asked."""
    if candidates.seeds.answers is None:
        return {}
    return {ANSWER: candidates.answers, **candidates.other_answers}


def _row(batch: Element, row: int) -> Element:
    def rows(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: value[row] for name, value in values.items()}

    return Element(
        batch.input[row],
        batch.reference[row],
        batch.label[row],
        batch.output[row],
        rows(batch.outputs),
        rows(batch.activations),
        rows(batch.metadata),
        rows(batch.all_outputs),
        rows(batch.seed_outputs),
    )


def property_named(name: str) -> Property:
    """The property behind FILE.py:function."""
    function = find_object(name)
    if not callable(function):
        raise UsageError(f"--oracle {name} is not a function")
    return Property(name, function)

"""Any predicate of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.foreign import attempt
from jostle.oracles.numbering import bug_number
from jostle.records import MODEL, Candidates, Crash, Trace, Verdicts, Violation


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


class Property:
    """A user's function that is true of an input that shows a defect, called per batch or per element."""

    def __init__(self, name: str, function: Callable[[Element], Any]):
        self._name = name
        self._function = function
        self._per_element = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        batch = Element(
            input=candidates.inputs,
            reference=candidates.references,
            label=candidates.labels,
            output=trace.outputs[MODEL],
            outputs=trace.outputs,
            activations=trace.activations,
            metadata=trace.metadata,
        )
        violating = self._asked(batch, len(candidates))
        violation = Violation("property", f"property:{self._name}", f"property {self._name} is violated")
        number = torch.full((len(candidates),), bug_number(violation.fingerprint))

        def describe(row: int) -> Violation:
            shown = {name: value[row].tolist() for name, value in trace.metadata.items() if value[row].numel() <= 64}
            return Violation(violation.kind, violation.fingerprint, violation.summary, shown)

        return Verdicts.where("property", trace, violating, number, describe)

    def _asked(self, batch: Element, rows: int) -> Tensor:
        """[batch] bool. The first answer settles whether the function takes a batch or one element."""
        if not self._per_element:
            answer = attempt(lambda: torch.as_tensor(self._function(batch)))
            if isinstance(answer, Tensor) and answer.shape == (rows,):
                return answer.bool()
            self._per_element = True
        answers = attempt(lambda: torch.tensor([bool(self._function(_row(batch, row))) for row in range(rows)]))
        if isinstance(answers, Crash):
            raise UsageError(
                f"property {self._name} takes neither a batch nor one element ({answers.error} in {answers.where}: "
                f"{answers.message}): fix that function"
            )
        return answers


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
    )

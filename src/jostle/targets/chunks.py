"""Running any number of rows on a target that accepts just one batch size."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.interfaces import Target
from jostle.records import Candidates, Trace, all_rows


class InChunks:
    """A target that accepts just one batch size, such as an exported program, given any number of rows."""

    def __init__(self, target: Target, size: int):
        self._target = target
        self._size = size

    def predict(self, inputs: Tensor) -> Tensor:
        outputs = [
            self._target.predict(inputs[self._padded(rows)])[: len(rows)]
            for rows in all_rows(len(inputs)).split(self._size)
        ]
        return torch.cat(outputs)

    def run(self, batch: Candidates) -> Trace:
        return Trace.joined(
            [
                self._target.run(batch.select(self._padded(rows))).select(all_rows(len(rows)))
                for rows in all_rows(len(batch)).split(self._size)
            ]
        )

    def _padded(self, rows: Tensor) -> Tensor:
        """The rows, the last one repeated until the chunk is full."""
        return rows[torch.arange(self._size).clamp(max=len(rows) - 1)]

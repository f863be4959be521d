"""A target in a process of its own."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from itertools import count

from torch import Tensor

from jostle.isolation.client import WorkerClient
from jostle.isolation.messages import batch_arrays, gaps_of, grouped, pass_of, trace_of
from jostle.records import Candidates, LayerGaps, Linearised, Trace


class Isolated:
    """What the target in the worker does; what it raises, this raises, and its death too."""

    def __init__(self, service: WorkerClient):
        self._service = service
        self._numbers = count()  # of passes, never used twice, though workers come and go
        self._forgotten: list[int] = []  # passes that nobody will pull any more

    def predict(self, inputs: Tensor) -> Tensor:
        _, arrays = self._service.ask("predict", {"inputs": inputs})
        return arrays["outputs"].clone()

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        answer, arrays = self._service.ask("run", batch_arrays(batch), watched=watched)
        return trace_of(arrays, len(batch), answer["seconds"])

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        forgotten, self._forgotten[:] = list(self._forgotten), []
        number = next(self._numbers)
        fields = {"pass": number, "extremes": extremes, "forgotten": forgotten}
        _, arrays = self._service.ask("linearise", {"inputs": inputs}, **fields)
        pull = _Pull(self._service, number)
        weakref.finalize(pull, self._forgotten.append, number)
        return pass_of(arrays, pull)

    def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
        answer, arrays = self._service.ask("gaps", {"inputs": inputs}, variant=variant)
        return gaps_of(arrays, len(inputs), answer["layers"])


class _Pull:
    """The vector-Jacobian product of a pass that the worker holds."""

    def __init__(self, service: WorkerClient, number: int):
        self._service, self._number = service, number

    def __call__(self, scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
        weights = grouped({"scores": scores, "activations": activations})
        _, arrays = self._service.ask("pull", weights, **{"pass": self._number})
        return arrays["gradient"].clone()

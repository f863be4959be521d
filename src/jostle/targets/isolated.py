"""A target in a process of its own."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from itertools import count

from torch import Tensor

from jostle.foreign import Crash, FailedElsewhere
from jostle.isolation.client import WorkerClient
from jostle.isolation.messages import batch_arrays, gaps_of, grouped, pass_of, trace_of
from jostle.records import Candidates, LayerGaps, Linearised, Trace

PASSES = 4  # that are made of the same inputs at most, when workers are killed
LOST = Crash(
    "SIGKILL", "ended the process between a pass and its gradient, again and again", "the target", "", fatal=True
)


class Isolated:
    """What the target in the worker does; what it raises, this raises, and its death too."""

    def __init__(self, service: WorkerClient):
        self._service = service
        self._numbers = count()  # of passes, never used twice, though workers come and go
        self._forgotten: list[int] = []  # passes that nobody will pull any more

    def predict(self, inputs: Tensor) -> Tensor:
        _, arrays = self._service.ask("predict", {"inputs": inputs})
        return arrays["outputs"]

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        answer, arrays = self._service.ask("run", batch_arrays(batch), watched=watched)
        return trace_of(arrays, len(batch), answer["seconds"])

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        forgotten, self._forgotten[:] = list(self._forgotten), []
        number = next(self._numbers)
        fields = {"pass": number, "extremes": extremes, "forgotten": forgotten}
        answer, arrays = self._service.ask("linearise", {"inputs": inputs}, **fields)
        pull = _Pull(self._service, inputs, number, extremes)
        weakref.finalize(pull, self._forgotten.append, number)
        return pass_of(arrays, pull, len(inputs), answer["seconds"])

    def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
        answer, arrays = self._service.ask("gaps", {"inputs": inputs}, variant=variant)
        return gaps_of(arrays, len(inputs), answer["layers"])


class _Pull:
    """The vector-Jacobian product of a pass that the worker holds; if that was killed, it is made again."""

    def __init__(self, service: WorkerClient, inputs: Tensor, number: int, extremes: bool):
        self._service, self._inputs, self._number, self._extremes = service, inputs, number, extremes

    def __call__(self, scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
        weights = grouped({"scores": scores, "activations": activations})
        for _ in range(PASSES):
            answer, arrays = self._service.ask("pull", weights, **{"pass": self._number})
            if "lost" not in answer:
                return arrays["gradient"]
            fields = {"pass": self._number, "extremes": self._extremes, "forgotten": []}
            self._service.ask("linearise", {"inputs": self._inputs}, **fields)
        raise FailedElsewhere(LOST)

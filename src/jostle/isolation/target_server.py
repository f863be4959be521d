"""Inside a worker: a target answers for a campaign in another process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from jostle.interfaces import Differentiable, ModelTarget
from jostle.isolation.messages import batch_of, pass_arrays, trace_arrays, ungrouped
from jostle.isolation.server import Handler
from jostle.isolation.shared_arrays import SharedArrays
from jostle.records import Linearised


class TargetOpener(Protocol):
    """Opens what shall be hosted."""

    def load(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Loads what the fields name; what a person should know of it."""

    def watch(
        self, sample: Tensor, fields: Mapping[str, Any]
    ) -> tuple[ModelTarget, Differentiable, Mapping[str, Any], Mapping[str, Tensor]]:
        """The target, the same as a differentiable one, and what a campaign must know of both."""


class TargetServer:
    """Handlers of requests, with arrays in files that both processes have in memory."""

    def __init__(self, answers: Path, opener: TargetOpener):
        self._answers, self._opener = SharedArrays(answers), opener
        self._asked: dict[str, SharedArrays] = {}
        self._passes: dict[int, Linearised] = {}
        self.handlers: dict[str, Handler] = {
            "load": opener.load,
            "watch": self._watch,
            "predict": self._predict,
            "run": self._run,
            "linearise": self._linearise,
            "pull": self._pull,
        }

    def _watch(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        sample = self._arrays(request)["inputs"].clone()
        self._target, self._gradients, facts, arrays = self._opener.watch(sample, request)
        return self._answered(arrays, facts=facts)

    def _predict(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._answered({"outputs": self._target.predict(self._arrays(request)["inputs"])})

    def _run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        trace = self._target.run(batch_of(self._arrays(request)), request["watched"])
        return self._answered(trace_arrays(trace), seconds=dict(trace.seconds))

    def _linearise(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        for forgotten in request["forgotten"]:
            self._passes.pop(forgotten, None)
        passed = self._gradients.linearise(self._arrays(request)["inputs"], request["extremes"])
        self._passes[request["pass"]] = passed
        return self._answered(pass_arrays(passed))

    def _pull(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        weights = ungrouped(self._arrays(request), ("scores", "activations"))
        passed = self._passes.pop(request["pass"])  # once only
        return self._answered({"gradient": passed.pull(weights["scores"], weights["activations"])})

    def _arrays(self, request: Mapping[str, Any]) -> dict[str, Tensor]:
        path = request["arrays"]
        return self._asked.setdefault(path, SharedArrays(Path(path))).get()

    def _answered(self, arrays: Mapping[str, Tensor], **fields: Any) -> Mapping[str, Any]:
        self._answers.put(arrays)
        return {**fields, "arrays": True}

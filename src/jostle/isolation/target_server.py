"""Inside a worker: a target answers for a campaign in another process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from jostle.interfaces import ComparesLayers, Differentiable, ModelTarget
from jostle.isolation.messages import batch_of, gaps_arrays, pass_arrays, trace_arrays, ungrouped
from jostle.isolation.server import Answer, Handler, Later
from jostle.isolation.shared_arrays import SharedArrays
from jostle.records import Linearised

# Packages whose modules start no threads and open no devices when they are imported.
LIBRARIES = ("jostle", "torch", "torchvision", "numpy", "scipy", "sympy", "mpmath", "safetensors", "PIL")


@dataclass(frozen=True)
class Hosted:
    """What a worker answers for, and what a campaign must know of it."""

    target: ModelTarget
    gradients: Differentiable
    twin_layers: ComparesLayers | None  # where there are twins
    facts: Mapping[str, Any]
    arrays: Mapping[str, Tensor]


class TargetOpener(Protocol):
    """Opens what shall be hosted."""

    def load(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Loads what the fields name; what a person should know of it."""

    def watch(self, sample: Tensor, fields: Mapping[str, Any]) -> Hosted:
        """What was loaded, watched; the sample [some, ...] are inputs of it."""


def _imported(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Modules that the next worker will need too, and that can be imported before it is forked."""
    return {"modules": [name for name in list(sys.modules) if name.partition(".")[0] in LIBRARIES]}


def _on_threads(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """From now on, torch has so many."""
    torch.set_num_threads(request["threads"])
    return {}


class TargetServer:
    """Handlers of requests, with arrays in files that both processes have open."""

    def __init__(self, answers: SharedArrays, opener: TargetOpener):
        self._answers, self._opener = answers, opener
        self._asked: dict[str, SharedArrays] = {}
        self._passes: dict[int, Linearised] = {}
        self.handlers: dict[str, Handler] = {
            "load": opener.load,
            "watch": self._watch,
            "predict": self._predict,
            "run": self._run,
            "linearise": self._linearise,
            "pull": self._pull,
            "gaps": self._gaps,
            "imported": _imported,
            "threads": _on_threads,
        }

    def _watch(self, request: Mapping[str, Any]) -> Later:
        sample = self._arrays(request)["inputs"]
        self._hosted = self._opener.watch(sample, request)
        return self._answered(self._hosted.arrays, facts=self._hosted.facts)

    def _predict(self, request: Mapping[str, Any]) -> Later:
        return self._answered({"outputs": self._hosted.target.predict(self._arrays(request)["inputs"])})

    def _run(self, request: Mapping[str, Any]) -> Later:
        trace = self._hosted.target.run(batch_of(self._arrays(request)), request["watched"])
        return self._answered(trace_arrays(trace), seconds=dict(trace.seconds))

    def _linearise(self, request: Mapping[str, Any]) -> Later:
        for forgotten in request["forgotten"]:
            self._passes.pop(forgotten, None)
        passed = self._hosted.gradients.linearise(self._arrays(request)["inputs"], request["extremes"])
        self._passes[request["pass"]] = passed
        return self._answered(pass_arrays(passed), seconds=dict(passed.trace.seconds) if passed.trace else {})

    def _pull(self, request: Mapping[str, Any]) -> Answer | Later:
        weights = ungrouped(self._arrays(request), ("scores", "activations"))
        passed = self._passes.pop(request["pass"], None)  # once only
        if passed is None:
            return {"lost": True}  # an earlier worker had it
        return self._answered({"gradient": passed.pull(weights["scores"], weights["activations"])})

    def _gaps(self, request: Mapping[str, Any]) -> Later:
        if self._hosted.twin_layers is None:
            raise ValueError("there are no twins to compare")
        found = self._hosted.twin_layers.gaps(self._arrays(request)["inputs"], request["variant"])
        return self._answered(gaps_arrays(found), layers=found.layers)

    def _arrays(self, request: Mapping[str, Any]) -> dict[str, Tensor]:
        path = request["arrays"]
        return self._asked.setdefault(path, SharedArrays(Path(path))).get()

    def _answered(self, arrays: Mapping[str, Tensor], **fields: Any) -> Later:
        """The model may have kept its process from writing."""

        def put() -> Answer:
            self._answers.put(arrays)
            return {**fields, "arrays": True}

        return put

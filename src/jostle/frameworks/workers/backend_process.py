"""One backend in a process of its own, which is watched, and started again when it dies."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.errors import JostleError, UsageError
from jostle.foreign import Crash
from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.onnx.opsets import USUAL
from jostle.frameworks.graph import Array
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.isolation.lifeline import BARE, command
from jostle.isolation.process import Died, Limits, Worker
from jostle.isolation.spawned import spawning

STARTING = 120.0  # seconds to import a framework
STARTS = 10  # attempts to start a worker
HANG, MEMORY = "Hang", "MemoryLimit"  # errors of workers that did not answer in time, or used too much memory
PROGRAM = "jostle.frameworks.workers.backend_server"
KILLED = "SIGKILL"  # the error of a worker that somebody else killed: frameworks do not do that to themselves
ASKED_AGAIN = 2  # times that the same is asked of a new worker, when the one before was killed
# What the interpreter of another installation must have.
REQUIREMENTS = "import sys; assert sys.version_info >= (3, 11), 'Python 3.11'; import numpy"


@dataclass(frozen=True)
class Place:
    """A backend, and the interpreter that has it: `onnxruntime`, or `onnxruntime@/path/to/python`."""

    backend: str
    interpreter: str = sys.executable

    @property
    def name(self) -> str:
        return self.backend if self.interpreter == sys.executable else f"{self.backend}@{self.interpreter}"

    @staticmethod
    def parse(text: str) -> Place:
        backend, at, interpreter = text.partition("@")
        if at and not interpreter:
            raise UsageError(f"{text} names no interpreter: give its path after the @")
        if any(sign.isspace() for sign in interpreter):
            raise UsageError(f"{interpreter!r} has spaces: give an interpreter by a path without, such as a link")
        if backend != REFERENCE:
            lowering_named(backend)
        return Place(backend, interpreter) if at else Place(backend)


@dataclass(frozen=True)
class RunTerms:
    """What is the same for all graphs of a campaign."""

    seed: int  # of cotangents
    opset: int = USUAL  # of ONNX models in which nothing is newer


class BackendProcess:
    """The client of a backend's worker; a graph that kills the worker counts as crashed or hung."""

    def __init__(self, place: Place, limits: Limits, line_coverage: bool = False):
        self.place, self._limits, self._line_coverage = place, limits, line_coverage
        self._worker: Worker | None = None
        self._fresh = False  # the worker has not answered yet
        self._slowest: float | None = None  # seconds of one graph, of all that were answered
        self.versions: Mapping[str, str] = {}
        self.newest_opset: int | None = None  # of ONNX, where the backend has one

    def open(self) -> None:
        """Starts the worker; what is not installed is refused with the extra that installs it."""
        refusal = self._refusal()
        if refusal is not None:
            raise UsageError(refusal)
        self._started()

    def run(self, graphs: Sequence[bytes], phase: str, terms: RunTerms) -> list[Observation]:
        """What the backend makes of each graph, given encoded; after a death, of each graph alone."""
        if not graphs:
            return []
        fresh = self._worker is None or self._fresh
        try:
            return self._ask_patiently(graphs, phase, terms)
        except Died as death:
            if len(graphs) == 1:
                return [self._after_death(graphs[0], phase, terms, death.crash, fresh)]
        return [observation for graph in graphs for observation in self.run([graph], phase, terms)]

    def _after_death(self, graph: bytes, phase: str, terms: RunTerms, crash: Crash, fresh: bool) -> Observation:
        """Observes a graph whose worker died, in a fresh worker if graphs before it may have used up the limits."""
        if fresh or crash.error not in (HANG, MEMORY):
            return _observed_death(crash)
        try:
            return self._ask_patiently([graph], phase, terms)[0]
        except Died as death:
            return _observed_death(death.crash)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _ask_patiently(self, graphs: Sequence[bytes], phase: str, terms: RunTerms) -> list[Observation]:
        """Asks again if the worker was killed, because that is nobody's defect."""
        for _ in range(ASKED_AGAIN):
            try:
                return self._ask(graphs, phase, terms)
            except Died as death:
                self._worker = None
                if death.crash.error != KILLED:
                    raise
        try:
            return self._ask(graphs, phase, terms)
        except Died:
            self._worker = None
            raise

    def _ask(self, graphs: Sequence[bytes], phase: str, terms: RunTerms) -> list[Observation]:
        answer = self._started().ask_encoded(_request(graphs, phase, terms), self._patience(len(graphs)))
        if "observations" not in answer:
            raise JostleError(f"the worker of {self.place.name} cannot go on: {_reason(answer)}")
        self._fresh, observed = False, [_observation(record) for record in answer["observations"]]
        self._slowest = max([self._slowest or 0.0, *(one.seconds for one in observed)])
        return observed

    def _patience(self, count: int) -> float:
        """Seconds for so many graphs at once: one may take its limit, and all others as long as the slowest so far.

        Where that was too short, each of them has its limit when it runs alone.
        """
        limit = self._limits.seconds
        return limit * count if self._slowest is None else min(limit * count, limit + self._slowest * count)

    def _started(self) -> Worker:
        """The worker, which is started if there is none."""
        for _ in range(STARTS):
            if self._worker is not None:
                break
            try:
                worker = Worker(
                    spawning(command(self.place.interpreter, BARE, PROGRAM), [self.place.backend]), self._limits
                )
                answer = worker.ask({"ask": "open", "line coverage": self._line_coverage}, STARTING)
            except Died as death:
                reason = death.crash.traceback.strip().splitlines()[-1:] or [str(death)]
                continue
            if "versions" not in answer:
                raise UsageError(f"{self.place.name} cannot be used: {_reason(answer)}")
            self._worker, self._fresh = worker, True
            self.versions, self.newest_opset = answer["versions"], answer["newest opset"]
        if self._worker is None:
            raise UsageError(f"the worker of {self.place.name} does not start: {reason[0]}")
        return self._worker

    def _refusal(self) -> str | None:
        """Why this backend cannot be used here."""
        if self.place.backend == REFERENCE:
            return None
        lowering = lowering_named(self.place.backend)
        if self.place.interpreter != sys.executable:
            reason = _lacks(self.place.interpreter, REQUIREMENTS)
            if reason is not None:
                return f"{self.place.interpreter} cannot run a worker, which needs Python 3.11 and numpy: {reason}"
        reason = _lacks(self.place.interpreter, f"import importlib.util as u; assert u.find_spec({lowering.module!r})")
        if reason is None:
            return None
        where = "" if self.place.interpreter == sys.executable else f" for {self.place.interpreter}"
        extra = f"pip install 'jostle[{lowering.extra}]'" if lowering.extra else f"pip install {lowering.module}"
        return f"{self.place.backend} is not installed{where}: {extra}"


def _request(graphs: Sequence[bytes], phase: str, terms: RunTerms) -> bytes:
    """A request to run encoded graphs, which are JSON and stay as they are."""
    head = json.dumps({"ask": "run", "phase": phase, "seed": terms.seed, "opset": terms.opset}).encode()
    return head[:-1] + b', "graphs": [' + b",".join(graphs) + b"]}"


def _lacks(interpreter: str, check: str) -> str | None:
    """What an interpreter writes when it fails a check; None if it passes."""
    try:
        done = subprocess.run([interpreter, "-P", "-c", check], capture_output=True, text=True, timeout=STARTING)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it fails"])[-1]


def _reason(answer: Mapping[str, Any]) -> str:
    crash = answer.get("crash")
    return f"{crash['error']}: {crash['message']}" if crash else json.dumps(answer)


def _observed_death(crash: Crash) -> Observation:
    return Observation(Status.HUNG if crash.error == HANG else Status.CRASHED, crash=crash)


def _observation(record: Mapping[str, Any]) -> Observation:
    crash = record.get("crash")
    return Observation(
        Status(record["status"]),
        {name: _array(array) for name, array in record.get("arrays", {}).items()},
        record.get("reason", ""),
        Crash(**crash) if crash else None,
        frozenset(record.get("signals", ())),
        record["seconds"],
    )


def _array(record: Mapping[str, Any]) -> Array:
    """The array in the dtype that the framework gave, which may be one that no graph has."""
    return np.frombuffer(base64.b64decode(record["bytes"]), np.dtype(record["dtype"])).reshape(record["shape"])

"""The program of a backend's worker: runs graphs on one framework, and imports no other framework."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from types import CodeType
from typing import Any

from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.all_backends import ONNX_RUNTIME, lowering_named, signals_of, written_in
from jostle.frameworks.backends.onnx.opsets import NEWEST, Opsets
from jostle.frameworks.backends.program import Lowering, Unsupported, arrays_of
from jostle.frameworks.graph import Array, Graph, array_as_json, graph_from_json
from jostle.frameworks.observations import REFERENCE, Status
from jostle.isolation.server import connected, serve

BETWEEN_CLEANINGS = 50  # programs
# Exceptions by which frameworks say that they have nothing for an operator.
MISSING = ("NotImplementedError", "UnimplementedError", "NotImplemented")

Record = dict[str, Any]  # of an answer
Result = tuple[Mapping[str, Array], set[str]]  # a program's arrays, and the parts of the library that worked


class ProgramRunner:
    """Runs graphs as programs of one framework."""

    def __init__(self, lowering: Lowering, line_coverage: bool):
        self._lowering = lowering
        self._signals = importlib.import_module(signals_of(lowering))
        self._signals.prepare()
        self._newest_opset = self._signals.newest_opset() if lowering.module == ONNX_RUNTIME else None
        self._lines = LineCoverage(lowering.module) if line_coverage else None

    def newest_opset(self) -> int | None:
        return self._newest_opset

    def versions(self) -> dict[str, str]:
        found = ((name, _version(name)) for name in self._lowering.packages)
        return {name: number for name, number in found if number is not None}

    def run(self, graph: Graph, phase: str, seed: int, usual_opset: int) -> Result:
        """A program's result; Unsupported if there is none, Failed if the framework fails. All else is our defect."""
        lowering = written_in(self._lowering, Opsets(usual_opset, self._newest_opset or NEWEST))
        code = compile(lowering.program(graph, phase), f"<{lowering.name}>", "exec")
        namespace: dict[str, Any] = arrays_of(graph, phase, seed)
        found = self._signals.watched(self._traced(partial(_execute, code, namespace)), namespace)
        return namespace["result"], found | (self._lines.taken() if self._lines else set())

    def _traced(self, run: Callable[[], None]) -> Callable[[], None]:
        return run if self._lines is None else lambda: self._lines.trace(run)  # type: ignore[union-attr]

    def clean(self) -> None:
        """Frees what a framework keeps of programs that ran."""
        if hasattr(self._signals, "after"):
            self._signals.after()


class Failed(Exception):
    """A framework failed; carries how."""

    def __init__(self, crash: Crash):
        super().__init__(crash.message)
        self.crash = crash


def _execute(code: CodeType, namespace: dict[str, Any]) -> None:
    ran = attempt(lambda: exec(code, namespace))
    if isinstance(ran, Crash):
        raise Failed(ran)


class ReferenceRunner:
    """Runs graphs on the reference, which computes everything in float64."""

    def __init__(self) -> None:
        from jostle.frameworks.reference import run

        self._run = run

    def versions(self) -> dict[str, str]:
        return {}

    def newest_opset(self) -> None:
        return None

    def run(self, graph: Graph, phase: str, seed: int, usual_opset: int) -> Result:
        arrays = attempt(lambda: self._run.result(graph, phase, seed))
        if isinstance(arrays, Crash):
            raise Failed(arrays)
        return arrays, set()

    def clean(self) -> None:
        gc.collect()


class LineCoverage:
    """Which lines of a framework's own Python ran; tracing them doubles the time."""

    def __init__(self, module: str):
        top = importlib.import_module(module.partition(".")[0])
        self._folder = str(next(iter(top.__path__)))
        self._found: set[str] = set()

    def trace(self, run: Callable[[], None]) -> None:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            run()
        finally:
            sys.settrace(before)

    def taken(self) -> set[str]:
        found, self._found = self._found, set()
        return found

    def _enter(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._folder) else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self._found.add(f"{frame.f_code.co_filename[len(self._folder) :]}:{frame.f_lineno}")
        return self._line


class Handlers:
    """Answers requests to one backend."""

    def __init__(self, backend: str):
        self._backend = backend
        self._ran = 0

    def open(self, request: Mapping[str, Any]) -> Record:
        """Imports the framework, which takes seconds."""
        if self._backend == REFERENCE:
            self._runner: ProgramRunner | ReferenceRunner = ReferenceRunner()
        else:
            lowering = lowering_named(self._backend)
            importlib.import_module(lowering.module)
            self._runner = ProgramRunner(lowering, request["line coverage"])
        return {"versions": self._runner.versions(), "newest opset": self._runner.newest_opset()}

    def run(self, request: Mapping[str, Any]) -> Record:
        graphs = map(graph_from_json, request["graphs"])
        given = request["phase"], request["seed"], request["opset"]
        return {"observations": [self._observed(graph, *given) for graph in graphs]}

    def _observed(self, graph: Graph, phase: str, seed: int, opset: int) -> Record:
        started = time.perf_counter()
        record = self._attempted(graph, phase, seed, opset)
        record["seconds"] = time.perf_counter() - started
        self._ran += 1
        if self._ran % BETWEEN_CLEANINGS == 0:
            self._runner.clean()
        return record

    def _attempted(self, graph: Graph, phase: str, seed: int, opset: int) -> Record:
        try:
            arrays, found = self._runner.run(graph, phase, seed, opset)
        except Unsupported as reason:
            return {"status": Status.UNSUPPORTED, "reason": str(reason)}
        except Failed as failure:
            return _failure(failure.crash)
        return {
            "status": Status.OK,
            "arrays": {name: array_as_json(array) for name, array in arrays.items()},
            "signals": sorted(found),
        }


def _failure(crash: Crash) -> Record:
    if crash.error == "Undefined":
        return {"status": Status.UNDEFINED, "reason": crash.message}
    if crash.error in MISSING:
        return {"status": Status.UNSUPPORTED, "reason": crash.message}
    return {"status": Status.CRASHED, "crash": asdict(crash)}


def _version(package: str) -> str | None:
    """None if it is not installed: a framework may come as one of several packages."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    number, backend = sys.argv[1:]
    handlers = Handlers(backend)
    serve(connected(number), {"open": handlers.open, "run": handlers.run})

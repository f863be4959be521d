"""A worker that is always there: started when it is asked, and anew after it died."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psutil
from torch import Tensor

from jostle.errors import JostleError, ModelRefused, PreflightFailed, SeedsRefused, UsageError
from jostle.foreign import Crash, FailedElsewhere
from jostle.isolation.ahead import NewWorker, acquired, released
from jostle.isolation.orphans import clean_up, new_folder
from jostle.isolation.process import Died, Limits
from jostle.isolation.shared_arrays import SharedArrays

Answer = tuple[dict[str, Any], dict[str, Tensor]]  # plain values and arrays
STARTS = 10  # tries to start a worker, which somebody may kill
STARTING = 60.0  # seconds at least for a new worker, which has libraries and the model to load
IN_FLIGHT = "inflight.bin"  # the batch that the worker was given last
KILLED = "SIGKILL"  # the error of a worker that somebody else killed: models seldom do that to themselves
ASKED_AGAIN = 3  # times at most that the same is asked of a new worker, when the one before was killed
SENDING = 60.0  # seconds for a request to be taken
SPARES = 2  # workers that have loaded the model already, once one has died


@dataclass(frozen=True)
class Opening:
    """A request that every worker answers before any other."""

    name: str
    arrays: SharedArrays
    path: Path
    values: Mapping[str, Tensor]
    fields: Mapping[str, Any]

    def request(self) -> dict[str, Any]:
        """Its arrays are put anew, because a worker may have removed them."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self.arrays.put(self.values)
        return {"ask": self.name, "arrays": str(self.path), **self.fields}


class ArrayWorker:
    """A worker whose answers have arrays."""

    def __init__(self, new: NewWorker):
        self.worker, self.answers = new.worker, SharedArrays(descriptor=new.answers)
        self.unanswered = 0  # requests whose answers nobody has asked for
        self._remove = weakref.finalize(self, shutil.rmtree, new.folder, ignore_errors=True)

    def tell(self, request: Mapping[str, Any]) -> None:
        """Sends a request whose answer is asked for later."""
        self.worker.tell(json.dumps(request).encode(), SENDING)
        self.unanswered += 1

    def answer(self, seconds: float) -> dict[str, Any]:
        """The answer to the first of them."""
        self.unanswered -= 1
        return self.worker.answer(seconds)

    def close(self) -> None:
        self.worker.kill()
        self.answers.close()
        self._remove()


class WorkerClient:
    """Asks a worker and gives its answers; what it raises or dies of is raised as FailedElsewhere.

    A worker that was killed, which is nobody's defect, is replaced and asked again.
    """

    def __init__(self, module: str, limits: Limits):
        self._limits = limits
        self._worker: ArrayWorker | None = None
        self._spares: list[ArrayWorker] = []  # each has the model loaded, or is about to
        self._frail = False
        self._footprint = 0  # bytes of a worker with all that it has opened
        self._openings: list[Opening] = []
        self._imported: list[str] = []  # modules, by a worker that has opened everything
        clean_up()
        self.folder = new_folder()  # of all that lasts as long as this
        self.keep_batches_in(self.folder)
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._source = acquired(module)
        self._release = weakref.finalize(self, released, self._source)

    def keep_batches_in(self, folder: Path) -> None:
        """Every batch is in a file in this folder before it runs."""
        self._batches = folder / IN_FLIGHT
        self._batch = SharedArrays(self._batches)

    def open(self, name: str, arrays: Mapping[str, Tensor], **fields: Any) -> Answer:
        """Asks what must be asked again of every new worker before anything else."""
        path = self.folder / f"opening-{len(self._openings)}.bin"
        opening = Opening(name, SharedArrays(path), path, arrays, fields)
        answer = self._asked(opening.request, max(STARTING, self._limits.seconds))
        self._openings.append(opening)
        self._end_spares()  # which have not opened it
        self._imported = self._asked(lambda: {"ask": "imported"}, self._limits.seconds)[0].get("modules", [])
        return answer

    def ask(self, name: str, arrays: Mapping[str, Tensor], **fields: Any) -> Answer:
        def request() -> dict[str, Any]:
            self._batch.put(arrays)
            return {"ask": name, "arrays": str(self._batches), **fields}

        return self._asked(request, self._limits.seconds)

    def close(self) -> None:
        """Ends the worker and removes its files."""
        self._end_spares()
        if self._worker is not None:
            self._worker.close()
        self._worker = None
        self._batch.remove()
        self._remove_folder()
        self._release()

    def _asked(self, request: Callable[[], Mapping[str, Any]], seconds: float) -> Answer:
        for left in reversed(range(ASKED_AGAIN)):
            worker = self._running()
            try:
                worker.tell(request())
                return self._answered(worker, seconds)
            except FailedElsewhere as failure:
                if failure.crash.error != KILLED or not left:
                    raise
            except Died as death:
                self._lost(worker)
                if death.crash.error != KILLED or not left:
                    raise FailedElsewhere(death.crash) from None
                self._end_spares()  # which have died too where it was their template that somebody killed
        raise AssertionError("the last try returns or raises")

    def _running(self) -> ArrayWorker:
        if self._worker is None:
            self._worker = self._started()
        return self._worker

    def _started(self) -> ArrayWorker:
        """A worker that has opened all that earlier ones had; somebody may kill one or another while it does."""
        for _ in range(STARTS):
            try:
                worker = self._spares.pop(0) if self._spares else self._prepared()
                while worker.unanswered:
                    self._answered(worker, max(STARTING, self._limits.seconds))
                self._keep_spares(worker)
                return worker
            except Died as death:
                reason = str(death)
            except FailedElsewhere as failure:
                reason = str(failure)
                if not failure.crash.fatal:
                    break
        raise JostleError(f"the target could be loaded before, and now not again: {reason}")

    def _prepared(self) -> ArrayWorker:
        """A new worker that is told to open all that earlier ones had."""
        worker = ArrayWorker(self._source.new(self._limits))
        for opening in self._openings:
            worker.tell(opening.request())
        return worker

    def _keep_spares(self, worker: ArrayWorker) -> None:
        """Starts what is missing of them, once a worker has died and as long as memory is plenty."""
        if not self._frail or not self._openings:
            return
        self._footprint = max(self._footprint, worker.worker.memory())
        while len(self._spares) < SPARES and psutil.virtual_memory().available > 2 * self._footprint:
            self._spares.append(self._prepared())

    def _end_spares(self) -> None:
        for spare in self._spares:
            spare.close()
        self._spares = []

    def _lost(self, worker: ArrayWorker) -> None:
        worker.close()
        self._worker = None
        if not self._frail:
            self._source.learn([str(module) for module in self._imported])
        self._frail = True

    def _answered(self, worker: ArrayWorker, seconds: float) -> Answer:
        """The next answer of a worker; one that does not hold together ends it."""
        answer = worker.answer(seconds)
        try:
            if "refused" in answer:
                raise _refusal(answer)
            if "crash" in answer:
                raise FailedElsewhere(_crash_of(answer["crash"]))
            return answer, worker.answers.get(self._limits.memory) if answer.get("arrays") else {}
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
            self._lost(worker)
            crash = Crash("BadAnswer", f"its answer cannot be read: {error}", "the target", "", fatal=True)
            raise FailedElsewhere(crash) from error


def _crash_of(told: Mapping[str, Any]) -> Crash:
    """How foreign code failed, as a worker tells it; TypeError if that is not what it should be."""
    crash = Crash(**told)
    for one in fields(crash):
        if type(getattr(crash, one.name)).__name__ != one.type:
            raise TypeError(f"{one.name} of a crash is no {one.type}")
    return crash


def _refusal(answer: Mapping[str, Any]) -> JostleError:
    kinds = {kind.__name__: kind for kind in (UsageError, ModelRefused, SeedsRefused, PreflightFailed)}
    return kinds.get(answer["kind"], JostleError)(str(answer["refused"]))

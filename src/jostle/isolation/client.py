"""A worker that is always there: started when it is asked, and anew after it died."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from jostle.errors import JostleError, ModelRefused, PreflightFailed, SeedsRefused, UsageError
from jostle.foreign import Crash, FailedElsewhere
from jostle.isolation.ahead import ANSWERS, taken
from jostle.isolation.orphans import clean_up, new_folder
from jostle.isolation.process import Died, Limits, Worker, module_program
from jostle.isolation.shared_arrays import SharedArrays

Answer = tuple[dict[str, Any], dict[str, Tensor]]  # plain values, and arrays that the next answer replaces
STARTS = 10  # tries to start a worker, which somebody may kill
STARTING = 60.0  # seconds at least for a new worker, which has libraries and the model to load
IN_FLIGHT = "inflight.bin"  # the batch that the worker was given last


class WorkerClient:
    """Asks a worker and gives its answers; what it raises or dies of is raised as FailedElsewhere."""

    def __init__(self, module: str, limits: Limits):
        self._module, self._limits = module, limits
        self._worker: Worker | None = None
        self._frail = False
        self._opening: list[tuple[str, Mapping[str, Tensor], Mapping[str, Any]]] = []
        clean_up()
        ahead = taken(module, limits)
        # Once one has died, the next is started before it is needed: that takes seconds.
        self._spare: Worker | None = None if ahead is None else ahead.worker
        self.folder = new_folder() if ahead is None else ahead.folder  # of all that lasts as long as this
        self._answers = self.folder / ANSWERS
        self._answer = SharedArrays(self._answers)
        self.keep_batches_in(self.folder)
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def keep_batches_in(self, folder: Path) -> None:
        """Every batch is in a file in this folder before it runs."""
        self._batches = folder / IN_FLIGHT
        self._batch = SharedArrays(self._batches)

    def open(self, name: str, arrays: Mapping[str, Tensor], **fields: Any) -> Answer:
        """Asks what must be asked again of every new worker before anything else."""
        answer = self._asked(self._running(), name, arrays, fields, opening=True)
        self._opening.append((name, arrays, fields))
        return answer

    def ask(self, name: str, arrays: Mapping[str, Tensor], **fields: Any) -> Answer:
        return self._asked(self._running(), name, arrays, fields)

    def close(self) -> None:
        """Ends the worker and removes its files."""
        for worker in (self._worker, self._spare):
            if worker is not None:
                worker.kill()
        self._worker = self._spare = None
        self._batch.remove()
        self._remove_folder()

    def _running(self) -> Worker:
        if self._worker is None:
            self._worker = self._started()
        return self._worker

    def _new(self) -> Worker:
        return Worker(module_program(self._module), [str(self._answers)], self._limits)

    def _started(self) -> Worker:
        """A worker that has opened all that earlier ones had; somebody may kill one or another while it does."""
        for _ in range(STARTS):
            worker = self._spare or self._new()
            self._spare = self._new() if self._frail else None
            try:
                for name, arrays, fields in self._opening:
                    self._asked(worker, name, arrays, fields, opening=True)
                return worker
            except FailedElsewhere as failure:
                reason = str(failure)
                if not failure.crash.fatal:
                    break
        raise JostleError(f"the target could be loaded before, and now not again: {reason}")

    def _asked(
        self,
        worker: Worker,
        name: str,
        arrays: Mapping[str, Tensor],
        fields: Mapping[str, Any],
        opening: bool = False,
    ) -> Answer:
        self._batch.put(arrays)
        seconds = max(STARTING, self._limits.seconds) if opening else self._limits.seconds
        try:
            answer = worker.ask({"ask": name, "arrays": str(self._batches), **fields}, seconds)
        except Died as death:
            self._worker, self._frail = None, True
            raise FailedElsewhere(death.crash) from None
        if "refused" in answer:
            raise _refusal(answer)
        if "crash" in answer:
            raise FailedElsewhere(Crash(**answer["crash"]))
        return answer, self._answer.get() if answer.get("arrays") else {}


def _refusal(answer: Mapping[str, Any]) -> JostleError:
    kinds = {kind.__name__: kind for kind in (UsageError, ModelRefused, SeedsRefused, PreflightFailed)}
    return kinds.get(answer["kind"], JostleError)(str(answer["refused"]))

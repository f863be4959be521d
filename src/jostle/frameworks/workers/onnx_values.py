"""Values of tensors in a user's own ONNX file, as ONNX Runtime computes them in a process of its own."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from jostle.errors import ModelRefused
from jostle.frameworks.graph import Array, array_as_json, array_from_json
from jostle.isolation.lifeline import BARE, command
from jostle.isolation.process import Died, Limits, Worker, most_memory
from jostle.isolation.spawned import spawning
from jostle.untrusted.onnx_model import checked_onnx, external_files

PROGRAM = "jostle.frameworks.workers.onnx_values_server"
PATIENCE = 300.0  # seconds for one pass of the model


class OnnxValues:
    """Runs a model file on fixed inputs, from the first time that a value is asked for to the end of the block."""

    def __init__(self, path: Path, inputs: Mapping[str, Array]):
        self._path, self._inputs = path, inputs
        self._worker: Worker | None = None

    def __call__(self, names: Sequence[str]) -> dict[str, Array | str]:
        """The values of these tensors; of those that our graphs cannot hold the dtype."""
        if self._worker is None:
            model = base64.b64encode(self._checked()).decode()
            limits = Limits(PATIENCE, most_memory(), most_memory())
            self._worker = Worker(spawning(command(sys.executable, BARE, PROGRAM)), limits)
            inputs = {name: array_as_json(array) for name, array in self._inputs.items()}
            self._ask({"ask": "open", "model": model, "inputs": inputs})
        told = self._ask({"ask": "values", "names": list(names)})["values"]
        return {name: one if isinstance(one, str) else array_from_json(one) for name, one in told.items()}

    def _checked(self) -> bytes:
        """The model in the file, found harmless to a runtime that opens it."""
        import onnx

        if find_spec("onnxruntime") is None:
            raise ModelRefused(
                "has nodes without counterpart, whose values need ONNX Runtime: pip install 'jostle[onnx]'"
            )
        try:
            model = checked_onnx(self._path, onnx.defs.onnx_opset_version())
        except ValueError as error:
            raise ModelRefused(f"cannot be given to ONNX Runtime: {error}") from error
        if external_files(model):  # inside branches and functions: a runtime would look for them elsewhere
            raise ModelRefused("keeps arrays in other files, which only its own folder tells: save it as one file")
        return bytes(model.SerializeToString())

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._worker is not None
        try:
            answer = self._worker.ask(request, PATIENCE)
            crash = answer.get("crash")
            reason = f"{crash['error']}: {crash['message']}" if crash else ""
        except Died as death:
            reason = str(death)
        if not reason:
            return answer
        first = (reason.strip().splitlines() or [""])[0][:200]
        raise ModelRefused(f"has nodes without counterpart, and ONNX Runtime does not compute them either ({first})")

    def __enter__(self) -> OnnxValues:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.kill()

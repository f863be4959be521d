"""Folders of TensorFlow's SavedModel as subjects, run by their signature for serving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from jostle.digests import digest_of_files
from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.array_inputs import sized
from jostle.subjects.array_model import OUTPUTS_ALONE, Arrays, LayerWatch, ModelRun, Pass, Session, Slot
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.keras_engines import OnTensorFlow, tensorflow
from jostle.subjects.keras_twins import BY_LITERT, SERVING, TWINS, as_litert
from jostle.subjects.layers import Layer
from jostle.subjects.silence import silenced
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.twin_making import TwinMaking
from jostle.untrusted.files import refusing
from jostle.untrusted.saved_model import GRAPH, check_saved_model


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A checked SavedModel; it has no layers, because its graph does not tell which operations make one."""

    folder: Path
    loaded: Any  # holds the weights, which go with it
    called: str  # the name of the signature
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    runtime, twins = "tensorflow", BY_LITERT

    @cached_property
    def digest(self) -> str:
        """Of the graph and of all weights beside it."""
        return digest_of_files(self.folder / GRAPH, *sorted((self.folder / "variables").glob("*")))

    @cached_property
    def architecture(self) -> str:
        return digest_of_files(self.folder / GRAPH)

    @property
    def over_batch(self) -> tuple[str, ...]:
        return ()

    @property
    def candidates(self) -> tuple[Layer, ...]:
        return ()

    def session(self, watch: LayerWatch = OUTPUTS_ALONE) -> Session:
        return self._session

    @cached_property
    def _session(self) -> Session:
        forward = self._engine.compiled(self._call)
        return lambda arrays: self._ran(forward([arrays[slot.name] for slot in self.inputs]))

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        return lambda arrays: {}

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        forward = self._engine.differentiable(self._call)

        def run(arrays: Arrays) -> Pass:
            values, pull = forward([arrays[slot.name] for slot in self.inputs])
            return Pass(self._ran(values), lambda given, _: pull([given.get(slot.name) for slot in self.outputs]))

        return run

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        if name not in BY_LITERT:
            return None

        def write(path: Path) -> None:
            path.write_bytes(as_litert(self.folder, self.called, name, sample))

        return making.written(name, ".tflite", write)

    @property
    def _engine(self) -> OnTensorFlow:
        return OnTensorFlow(self.inputs)

    def _call(self, *given: Any) -> list[Any]:
        returned = self.loaded.signatures[self.called](
            **{slot.name: value for slot, value in zip(self.inputs, given, strict=True)}
        )
        return [returned[slot.name] for slot in self.outputs]

    def _ran(self, values: Sequence[Any]) -> ModelRun:
        return ModelRun({slot.name: value for slot, value in zip(self.outputs, values, strict=True)})


def _slots(folder: Path, specs: Mapping[str, Any]) -> tuple[Slot, ...]:
    for name, spec in specs.items():
        if spec.shape.rank is None:
            raise ModelRefused(f"{folder}: {name} has no known rank: export it with an input signature")
    return tuple(Slot(name, tuple(spec.shape), np.dtype(spec.dtype.as_numpy_dtype)) for name, spec in specs.items())


def _signature(folder: Path, loaded: Any) -> str:
    """The name of the one for serving, or of the only one."""
    found: dict[str, Any] = dict(getattr(loaded, "signatures", {}))
    names: list[str] = [name for name in (*SERVING, *(found if len(found) == 1 else ())) if name in found]
    if not names:
        told = f"has {', '.join(found)}" if found else "has none"
        raise ModelRefused(f"{folder} needs the signature {SERVING[0]} and {told}: export it with model.export(folder)")
    return names[0]


def _load(folder: Path, loading: Loading) -> Subject:
    with refusing(folder):
        check_saved_model(folder, loading.trusted)
    if find_spec("tensorflow") is None:
        raise ModelRefused(f"{folder} needs TensorFlow: pip install 'jostle[tensorflow]'")
    tf = tensorflow()
    with silenced():
        loaded = attempt(partial(tf.saved_model.load, str(folder)))
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{folder} cannot be loaded by TensorFlow ({loaded.message}): export it again")
    called = _signature(folder, loaded)
    signature = loaded.signatures[called]
    inputs = sized(_slots(folder, signature.structured_input_signature[1]), loading.shapes)
    outputs = _slots(folder, signature.structured_outputs)
    return ArraySubject.of_model(SavedModel(folder, loaded, called, inputs, outputs))


SAVED_MODEL = SubjectKind(
    "SavedModel",
    lambda path: (path / GRAPH).is_file(),
    _load,
    engines=("tensorflow",),
    twins={name: TWINS[name] for name in BY_LITERT},
)

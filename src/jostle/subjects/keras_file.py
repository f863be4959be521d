"""Keras models, from files and from Python, as subjects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from jostle.digests import digest_of_bytes, digest_of_text
from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.array_inputs import sized
from jostle.subjects.array_model import OUTPUTS_ALONE, Array, Arrays, LayerWatch, ModelRun, Pass, Session, Slot
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.keras_engines import ENGINES, Engine, engine_of, keras_on
from jostle.subjects.keras_layers import HALVES, KerasLayer, looked_at, parts_of, recording, widened
from jostle.subjects.keras_signature import called, named_outputs, symbolic_outputs
from jostle.subjects.keras_twins import BY_LITERT, TWINS, made_twin
from jostle.subjects.layers import Layer
from jostle.subjects.silence import silenced
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.twin_making import TwinMaking
from jostle.untrusted.files import refusing
from jostle.untrusted.keras_archive import check_keras

SUFFIXES = (".keras", ".h5", ".hdf5")
UNKNOWN_INPUTS = "has no inputs of known shapes: build it as a functional model, or export it as a SavedModel"


@dataclass(frozen=True, eq=False)
class KerasModel:
    """A functional or sequential model of Keras, whatever it computes with."""

    model: Any
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    sessions: dict[LayerWatch, Session] = field(default_factory=dict)  # that were compiled already

    @property
    def runtime(self) -> str:
        import keras

        return str(keras.backend.backend())

    @property
    def twins(self) -> tuple[str, ...]:
        """LiteRT's are made by TensorFlow alone."""
        return tuple(name for name in TWINS if name not in BY_LITERT or self.runtime == "tensorflow")

    @property
    def weights(self) -> int:
        return int(self.model.count_params())

    @cached_property
    def digest(self) -> str:
        """Of architecture and weights."""
        weights = (np.ascontiguousarray(one).tobytes() for one in self.model.get_weights())
        return digest_of_bytes(chain([self.architecture.encode()], weights))

    @cached_property
    def architecture(self) -> str:
        kinds = [(name, type(part.operation).__name__) for name, part in self.parts.items()]
        shapes = [tuple(weights.shape) for weights in self.model.weights]
        return digest_of_text(repr((kinds, shapes, [(slot.shape, slot.dtype) for slot in self.inputs])))

    @property
    def over_batch(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def parts(self) -> dict[str, KerasLayer]:
        return parts_of(self.model)

    @property
    def candidates(self) -> tuple[Layer, ...]:
        return tuple(part.layer for part in self.parts.values())

    def session(self, watch: LayerWatch = OUTPUTS_ALONE) -> Session:
        if watch not in self.sessions:
            watched = self._watched(watch)
            forward = self.engine.compiled(watched)
            self.sessions[watch] = lambda arrays: watched.ran(forward(self._flat(arrays)))
        return self.sessions[watch]

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        parts, found = [self.parts[name] for name in layers], list[str]()

        def function(*given: Any) -> list[Any]:
            with recording(parts) as seen:
                self._call(given)
            found[:] = [name for name in layers if seen[name]]  # the others do not run
            return [widened(seen[name][0]) for name in found]

        forward = self.engine.compiled(function)

        def run(arrays: Arrays) -> Arrays:
            values = forward(self._flat(arrays))
            return dict(zip(found, values, strict=True))

        return run

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        watched = self._watched(watch)
        forward = self.engine.differentiable(watched)

        def run(arrays: Arrays) -> Pass:
            values, pull = forward(self._flat(arrays))
            return Pass(watched.ran(values), lambda *weights: pull(watched.in_order(*weights)))

        return run

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        return made_twin(self.model, name, sample, making)

    @cached_property
    def engine(self) -> Engine:
        return engine_of(self.model, self.inputs)

    def _watched(self, watch: LayerWatch) -> Watched:
        return Watched(self._call, [self.parts[name] for name in watch.layers], watch)

    def _call(self, given: Sequence[Any]) -> Mapping[str, Any]:
        """All outputs by name for inputs in their order."""
        return named_outputs(self.model, called(self.model, given))

    def _flat(self, arrays: Arrays) -> list[Array]:
        return [arrays[slot.name] for slot in self.inputs]


class Watched:
    """A forward pass as a function of tensors alone: outputs, neurons and extremes one behind another."""

    def __init__(
        self, call: Callable[[Sequence[Any]], Mapping[str, Any]], parts: Sequence[KerasLayer], watch: LayerWatch
    ):
        self._call, self._parts, self._layer_watch = call, parts, watch
        self._names: list[list[str]] = []  # of all three, once it was traced

    def __call__(self, *given: Any) -> list[Any]:
        with recording(self._parts) as seen:
            outputs = self._call(given)
        found = (
            {name: widened(value) for name, value in outputs.items()},
            *looked_at(self._parts, self._layer_watch, seen),
        )
        self._names = [list(one) for one in found]
        return [value for one in found for value in one.values()]

    def ran(self, values: Sequence[Array]) -> ModelRun:
        left = iter(values)
        return ModelRun(*({name: next(left) for name in names} for names in self._names))

    def in_order(self, outputs: Arrays, activations: Arrays) -> list[Array | None]:
        """Weights of all that the pass gives."""
        weights = (outputs, activations, dict[str, Array]())
        return [given.get(name) for names, given in zip(self._names, weights, strict=True) for name in names]


def _slot(name: str, tensor: Any) -> Slot:
    return Slot(name, tuple(tensor.shape), np.dtype("float32" if tensor.dtype in HALVES else tensor.dtype))


def of_model(model: Any, what: str, shapes: Mapping[str, tuple[int, ...]]) -> ArraySubject:
    """A Keras model as a subject; ModelRefused where its inputs are not known."""
    import keras

    functional = isinstance(model, keras.Sequential | keras.src.models.functional.Functional)
    if not functional or not getattr(model, "inputs", None):
        raise ModelRefused(f"{what} {UNKNOWN_INPUTS}")
    inputs = sized([_slot(tensor._keras_history.operation.name, tensor) for tensor in model.inputs], shapes)
    outputs = symbolic_outputs(model)
    given = KerasModel(model, inputs, tuple(_slot(name, tensor) for name, tensor in outputs.items()))
    return ArraySubject.of_model(given)


def _load(path: Path, loading: Loading) -> Subject:
    with refusing(path):
        check_keras(path, loading.trusted)
    keras = keras_on(loading.engine, str(path))
    with silenced():
        model = attempt(partial(keras.saving.load_model, path, compile=False, safe_mode=not loading.trusted))
    if isinstance(model, Crash):
        raise ModelRefused(
            f"{path} cannot be loaded by Keras {keras.__version__} ({model.error}: {model.message}): save it with this "
            f"version, or give FILE.py:function that returns the model"
        )
    return of_model(model, str(path), loading.shapes)


def _wrapped(found: object) -> Subject | None:
    keras = sys.modules.get("keras")
    return of_model(found, "the model", {}) if keras is not None and isinstance(found, keras.Model) else None


KERAS = SubjectKind("Keras", lambda path: path.suffix in SUFFIXES, _load, engines=ENGINES, wrap=_wrapped, twins=TWINS)

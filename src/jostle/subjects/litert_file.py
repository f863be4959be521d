"""LiteRT models (`.tflite`), float and quantised, as subjects, run by ai-edge-litert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.digests import digest_of_bytes, digest_of_text
from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.array_inputs import sized
from jostle.subjects.array_model import (
    OUTPUTS_ALONE,
    Array,
    Arrays,
    LayerWatch,
    ModelRun,
    Pass,
    Session,
    Slot,
    ends,
    neurons,
    no_gradients,
)
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.layers import Layer
from jostle.subjects.litert_graph import LitertGraph, graph_of, with_outputs
from jostle.subjects.silence import silenced
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.twin_making import TwinMaking
from jostle.untrusted.files import refusing
from jostle.untrusted.litert_model import checked_litert

MISSING = "needs LiteRT: pip install 'jostle[litert]'"
FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Scaled:
    """How a tensor holds real numbers: as they are, or as whole numbers that are multiples of a scale."""

    tensor: int
    dtype: np.dtype[Any]
    scale: float = 0.0
    zero: int = 0

    @staticmethod
    def of_details(details: Mapping[str, Any]) -> Scaled:
        dtype, (scale, zero) = np.dtype(details["dtype"]), details["quantization"]
        quantised = dtype.kind in "iu" and scale > 0
        return Scaled(int(details["index"]), dtype, float(scale) if quantised else 0.0, int(zero))

    @property
    def given(self) -> np.dtype[Any]:
        """The type of the numbers outside."""
        return FLOAT32 if self.scale else self.dtype

    def held(self, values: Array) -> Array:
        """Numbers [batch, ...] as the tensor holds them; what it cannot hold becomes the nearest that it can."""
        if not self.scale:
            return values
        limits = np.iinfo(self.dtype)
        rounded = np.nan_to_num(np.round(values / np.float32(self.scale)) + self.zero)
        return rounded.clip(limits.min, limits.max).astype(self.dtype)

    def real(self, values: Array) -> Array:
        """What the tensor holds [batch, ...] as numbers."""
        return (values.astype(np.float32) - self.zero) * np.float32(self.scale) if self.scale else values


class SizedInterpreter:
    """An interpreter that is fitted to the sizes of what it is given; what it raises, this raises."""

    def __init__(self, graph: LitertGraph, watched: Sequence[int] = ()):
        content = with_outputs(graph.content, watched) if watched else graph.content
        self._interpreter = _opened(content)
        self._resets = graph.variables
        self._sizes: dict[int, tuple[int, ...]] = {}

    def details(self, tensor: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._interpreter._get_tensor_details(tensor, 0)
        return found

    def run(self, given: Mapping[int, Array]) -> None:
        """Computes everything for inputs by tensor, each [batch, ...]."""
        sizes = {tensor: value.shape for tensor, value in given.items()}
        if sizes != self._sizes:
            self._sizes = {}  # where what follows fails, sizes are not known
            for tensor, shape in sizes.items():
                self._interpreter.resize_tensor_input(tensor, shape)
            with silenced(native=True):
                self._interpreter.allocate_tensors()
            self._sizes = sizes
        if self._resets:
            self._interpreter.reset_all_variables()  # so that no row depends on those before it
        for tensor, value in given.items():
            self._interpreter.set_tensor(tensor, value)
        self._interpreter.invoke()

    def value(self, scaled: Scaled) -> Array:
        """What a tensor that is given out holds now, copied."""
        return scaled.real(self._interpreter.get_tensor(scaled.tensor))


@dataclass(frozen=True)
class LitertModel:
    """A checked LiteRT file."""

    path: Path
    graph: LitertGraph
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    held: Mapping[str, Scaled]  # by name, how inputs hold numbers
    given: Mapping[str, Scaled]  # by name, how outputs hold numbers
    over_batch: tuple[str, ...] = ()

    runtime = "litert"

    @property
    def twins(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def digest(self) -> str:
        return digest_of_bytes([self.graph.content])

    @cached_property
    def architecture(self) -> str:
        return digest_of_text(repr((self.graph.operators, self.inputs)))

    @property
    def weights(self) -> int:
        return self.graph.weights

    @property
    def candidates(self) -> tuple[Layer, ...]:
        return tuple(step.layer for step in self.graph.steps.values())

    def session(self, watch: LayerWatch = OUTPUTS_ALONE) -> Session:
        seen = self._seeing(watch.layers)

        def run(arrays: Arrays) -> ModelRun:
            outputs, layers = seen(arrays)
            activations = {name: neurons(value, True, watch.every_unit) for name, value in layers.items()}
            return ModelRun(outputs, activations, {n: ends(v) for n, v in layers.items()} if watch.extremes else {})

        return run

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        seen = self._seeing(layers)
        return lambda arrays: seen(arrays)[1]

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        raise no_gradients("LiteRT")

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        return None

    def _seeing(self, layers: Sequence[str]) -> Callable[[Arrays], tuple[Arrays, Arrays]]:
        """Outputs and layers by name, for inputs by name."""
        steps = {name: self.graph.steps[name].tensor for name in layers}
        present = {scaled.tensor for scaled in self.given.values()}
        runner = _runner(self.path, self.graph, [tensor for tensor in steps.values() if tensor not in present])
        looked = {name: Scaled.of_details(runner.details(tensor)) for name, tensor in steps.items()}

        def run(arrays: Arrays) -> tuple[Arrays, Arrays]:
            runner.run({one.tensor: one.held(arrays[name]) for name, one in self.held.items()})
            outputs = {name: runner.value(one) for name, one in self.given.items()}
            return outputs, {name: runner.value(one) for name, one in looked.items()}

        return run


def _runner(path: Path, graph: LitertGraph, watched: Sequence[int] = ()) -> SizedInterpreter:
    runner = attempt(partial(SizedInterpreter, graph, watched))
    if isinstance(runner, Crash):
        raise ModelRefused(f"{path} cannot be run by LiteRT ({runner.message}): convert it again, or update LiteRT")
    return runner


def _opened(content: bytes) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    with silenced(native=True):  # it tells with no way to stop it which delegate it takes
        return Interpreter(model_content=content, num_threads=torch.get_num_threads())


def open_litert(path: Path, loading: Loading) -> LitertModel:
    """The model in a file, checked before an interpreter opens it."""
    with refusing(path):
        content = checked_litert(path)
    interpreter = attempt(partial(_opened, content))
    if isinstance(interpreter, Crash):
        if interpreter.error == "ModuleNotFoundError":
            raise ModelRefused(f"{path} {MISSING}")
        raise ModelRefused(f"{path} cannot be run by LiteRT ({interpreter.message}): convert it again, or update it")
    inputs, outputs = _ends_of(interpreter)
    held = {name: Scaled.of_details(one) for name, one in inputs.items()}
    given = {name: Scaled.of_details(one) for name, one in outputs.items()}
    graph = graph_of(content, {one.tensor: name for name, one in given.items()})
    slots = sized([_slot(name, one) for name, one in inputs.items()], loading.shapes)
    return LitertModel(path, graph, slots, tuple(_slot(n, one) for n, one in outputs.items()), held, given)


def _ends_of(interpreter: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs by the names that the file's only signature gives them, else by those of their tensors."""
    found = interpreter.get_signature_list()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    if len(found) == 1:
        runner = interpreter.get_signature_runner(next(iter(found)))
        named = {one["index"]: name for name, one in runner.get_input_details().items()}
        given = {one["index"]: name for name, one in runner.get_output_details().items()}
    else:
        named, given = {}, {}
    return (
        {named.get(one["index"], one["name"]): one for one in inputs},
        {given.get(one["index"], one["name"]): one for one in outputs},
    )


def _slot(name: str, details: Mapping[str, Any]) -> Slot:
    signature = details["shape_signature"] if len(details["shape_signature"]) else details["shape"]
    shape = tuple(None if size < 0 else int(size) for size in signature)
    return Slot(name, shape, Scaled.of_details(details).given)


def _of_any_batch(model: LitertModel) -> LitertModel:
    """The same, of any batch size if two rows together give what each gives alone, although the file says one."""
    if not all(slot.shape[:1] == (1,) for slot in (*model.inputs, *model.outputs)):
        return model
    resized = replace(model, inputs=_of_any(model.inputs), outputs=_of_any(model.outputs))
    return resized if attempt(partial(_rows_alone, resized)) is True else model


def _of_any(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    return tuple(replace(slot, shape=(None, *slot.row)) for slot in slots)


def _rows_alone(model: LitertModel) -> bool:
    """Whether two rows give together what they give alone."""
    draw, run = np.random.default_rng(0), model.session()
    two = {slot.name: _drawn(draw, slot) for slot in model.inputs}
    together = run(two).outputs
    alone = [run({name: value[row : row + 1] for name, value in two.items()}).outputs for row in range(2)]
    return all(
        value.shape[:1] == (2,)
        and all(np.allclose(value[row], alone[row][name][0], rtol=1e-3, atol=1e-4) for row in range(2))
        for name, value in together.items()
    )


def _drawn(draw: np.random.Generator, slot: Slot) -> Array:
    """Two rows of an input whose sizes are known, else nothing that fits."""
    return draw.random((2, *(size or 0 for size in slot.row))).astype(slot.dtype)


def _load(path: Path, loading: Loading) -> Subject:
    return ArraySubject.of_model(_of_any_batch(open_litert(path, loading)))


LITERT = SubjectKind("LiteRT", lambda path: path.suffix == ".tflite", _load, engines=("litert",))

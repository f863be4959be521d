"""OpenVINO models (`.xml` with `.bin`), and ONNX files by `--engine openvino`, as subjects."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.digests import digest_of_files, digest_of_text
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
    finite,
    neurons,
    no_gradients,
)
from jostle.subjects.array_subject import ArraySubject
from jostle.subjects.layers import Layer
from jostle.subjects.onnx_file import open_onnx
from jostle.subjects.onnx_graph import GraphLayer
from jostle.subjects.onnx_twins import ONNX_TWINS
from jostle.subjects.openvino_graph import LayerResults, inner_of, port_name, ports_of, slots_of, watched
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.twin_making import TwinMaking
from jostle.untrusted.files import refusing
from jostle.untrusted.openvino_ir import checked_openvino

MISSING = "needs OpenVINO: pip install 'jostle[openvino]'"
TELEMETRY = "openvino_telemetry"  # what OpenVINO sends a message by whenever it is imported
OF_NO_USE = (
    "Exception from ",
    "Check '",
    "FrontEnd API failed",
)  # lines of OpenVINO's messages that tell a user nothing


@dataclass(frozen=True)
class OpenVinoModel:
    """A checked model that OpenVINO has read."""

    path: Path
    network: Any  # openvino.Model
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    inner: Mapping[str, GraphLayer]
    digest: str
    over_batch: tuple[str, ...] = ()

    runtime = "openvino"

    @property
    def twins(self) -> tuple[str, ...]:
        """Of an ONNX file those of ONNX."""
        return tuple(ONNX_TWINS) if self.path.suffix == ".onnx" else ()

    @cached_property
    def architecture(self) -> str:
        operators = [node.get_type_name() for node in self.network.get_ordered_ops()]  # some have new names each time
        return digest_of_text(repr((operators, list(self.inner), self.inputs)))

    @property
    def weights(self) -> int:
        constants = (node.output(0) for node in self.network.get_ops() if node.get_type_name() == "Constant")
        learnt = (port for port in constants if port.get_element_type().get_type_name() != "i64")  # not sizes and axes
        return sum(math.prod(port.get_shape()) for port in learnt if len(port.get_shape()))

    @property
    def candidates(self) -> tuple[Layer, ...]:
        return tuple(one.layer for one in self.inner.values())

    def session(self, watch: LayerWatch = OUTPUTS_ALONE) -> Session:
        return self._watching(watch) if watch.layers else self._plain

    @cached_property
    def _plain(self) -> Session:
        """Kept, because many ask for it before the first execution."""
        return self._watching(OUTPUTS_ALONE)

    def _watching(self, watch: LayerWatch) -> Session:
        inner = [self.inner[name] for name in watch.layers]
        network, placed = watched(self.network, inner, watch) if inner else (self.network, [])
        infer = self._compiled(network)
        raw = cache(partial(self.raw, watch.layers))  # compiled only once a layer is not finite

        def run(arrays: Arrays) -> ModelRun:
            values = infer(arrays)
            outputs = {slot.name: value for slot, value in zip(self.outputs, values, strict=False)}
            activations = {one.inner.layer.name: _neurons(one, values, watch) for one in placed}
            if not all(map(finite, activations.values())):
                return ModelRun(outputs, *self._looked_at_exactly(raw()(arrays), watch))
            extremes = {one.inner.layer.name: _ends(one, values) for one in placed} if watch.extremes else {}
            return ModelRun(outputs, activations, extremes)

        return run

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        inner = [self.inner[name] for name in layers]
        network, placed = watched(self.network, inner, LayerWatch(every_unit=True))
        infer = self._compiled(network)

        def run(arrays: Arrays) -> Arrays:
            values = infer(arrays)
            return {one.inner.layer.name: values[one.neurons] for one in placed}

        return run

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        raise no_gradients("OpenVINO")

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        """Of an ONNX file those of ONNX, which ONNX Runtime makes and runs."""
        return None if self.path.suffix != ".onnx" else open_onnx(self.path, Loading()).twin(name, sample, making)

    def _looked_at_exactly(self, seen: Arrays, watch: LayerWatch) -> tuple[Arrays, Arrays]:
        """Neurons and extremes of layers computed here: in a graph, means overflow and extremes pass over NaN."""
        activations = {
            name: neurons(value, self.inner[name].sequence, watch.every_unit) for name, value in seen.items()
        }
        return activations, {name: ends(value) for name, value in seen.items()} if watch.extremes else {}

    def _compiled(self, network: Any) -> Callable[[Arrays], list[Array]]:
        """All results of a network for inputs by name, on as many threads as torch has."""
        settings = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",  # else bfloat16 is taken where the processor has it
            "ENABLE_CPU_PINNING": False,  # else processes side by side share a core
        }
        compiled = attempt(partial(openvino_runtime().Core().compile_model, network, "CPU", settings))
        if isinstance(compiled, Crash):
            reason = _telling_line(compiled.traceback)
            raise ModelRefused(f"{self.path} cannot be run by OpenVINO ({reason}): {_other(self.path)}")
        request, places = compiled.create_infer_request(), self._places

        def infer(arrays: Arrays) -> list[Array]:
            given = {place: arrays[name] for name, place in places.items()}
            try:
                found = request.infer(given, share_inputs=True)
            except RuntimeError as error:  # whose first line, by which crashes are told apart, is always the same
                raise RuntimeError(_telling_line(str(error))) from error
            return [found[number] for number in range(len(compiled.outputs))]

        return infer

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where among the network's inputs each of those is that the file names."""
        known = [{*port.get_names(), port_name(port)} for port in self.network.inputs]
        return {slot.name: number for slot in self.inputs for number, names in enumerate(known) if slot.name in names}


def _neurons(placed: LayerResults, values: Sequence[Array], watch: LayerWatch) -> Array:
    found = values[placed.neurons]
    return found if placed.means else neurons(found, placed.inner.sequence, watch.every_unit)


def _ends(placed: LayerResults, values: Sequence[Array]) -> Array:
    if placed.ends is None:
        return ends(values[placed.neurons])
    return np.stack([values[place] for place in placed.ends], 1)


def _other(path: Path) -> str:
    return "leave out --engine openvino" if path.suffix == ".onnx" else "convert it again with a recent OpenVINO"


def _telling_line(message: str) -> str:
    """The last line that tells why: OpenVINO writes the places in its code first."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if not line.startswith(OF_NO_USE)), "").removeprefix("-- ")


def openvino_runtime() -> Any:
    """OpenVINO, which is kept from telling its makers that it was imported."""
    try:
        with _without(TELEMETRY):
            import openvino
    except ImportError as error:
        raise ModelRefused(f"the model {MISSING}") from error
    return openvino


@contextmanager
def _without(module: str) -> Iterator[None]:
    """As if the module were not installed, unless it is imported already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


def read_network(path: Path, frontend: str) -> Any:
    """The network in a file, read as what it was checked to be, whatever else it could be taken for."""
    openvino_runtime()
    from openvino.frontend import FrontEndManager

    reader = FrontEndManager().load_by_framework(frontend)
    network = attempt(lambda: reader.convert(reader.load(str(path))))
    if isinstance(network, Crash):
        reason = _telling_line(network.traceback)
        raise ModelRefused(f"{path} cannot be read by OpenVINO ({reason}): {_other(path)}")
    return network


def _open_onnx(path: Path, loading: Loading) -> OpenVinoModel:
    """Layers are called as ONNX Runtime's are, so that both can be compared."""
    known = open_onnx(path, loading)
    network = read_network(path, "onnx")
    ports = ports_of(network)
    inner = {name: one for name, one in known.inner.items() if one.tensor in ports}
    return OpenVinoModel(path, network, known.inputs, known.outputs, inner, known.digest, known.over_batch)


def _open_ir(path: Path, loading: Loading) -> OpenVinoModel:
    with refusing(path):
        weights = checked_openvino(path)
    network = read_network(path, "ir")
    digest = digest_of_files(path, *([weights] if weights else []))
    inputs = sized(slots_of(network.inputs), loading.shapes)
    return OpenVinoModel(path, network, inputs, slots_of(network.outputs), inner_of(network), digest)


def _load(path: Path, loading: Loading) -> Subject:
    model = (_open_onnx if path.suffix == ".onnx" else _open_ir)(path, loading)
    model.session()  # so that what the runtime cannot run is refused here
    return ArraySubject.of_model(model)


OPENVINO = SubjectKind("OpenVINO", lambda path: path.suffix in (".xml", ".onnx"), _load, engines=("openvino",))

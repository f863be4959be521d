"""ONNX files as subjects, run by ONNX Runtime."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from jostle.subjects.onnx_graph import (
    LEAST,
    MOST,
    OF_BATCH,
    GraphLayer,
    inner_of,
    inputs_of,
    mean_of,
    slots_of,
    watching,
)
from jostle.subjects.onnx_twins import ONNX_TWINS, onnx_twin
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.twin_making import TwinMaking
from jostle.untrusted.files import refusing
from jostle.untrusted.onnx_model import checked_onnx, external_files, unknown_domains

if TYPE_CHECKING:
    import onnx

MISSING = "needs ONNX Runtime: pip install 'jostle[onnx]'"
Reader = Callable[[Arrays, Sequence[str]], Arrays]  # inputs, and names of layers -> what those give
INT64 = 7  # the element type of sizes and axes, which nobody learnt
FOLDER = "session.model_external_initializers_file_folder_path"  # where ONNX Runtime looks for external data


@dataclass(frozen=True)
class OnnxModel:
    """A checked ONNX file."""

    path: Path
    proto: onnx.ModelProto  # without external data
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    runtime, twins = "onnxruntime", tuple(ONNX_TWINS)

    @cached_property
    def digest(self) -> str:
        """Of the file and of all external data beside it."""
        return digest_of_files(self.path, *(self.path.parent / name for name in sorted(external_files(self.proto))))

    @cached_property
    def architecture(self) -> str:
        operators = [(node.op_type, list(node.output)) for node in self.proto.graph.node]
        return digest_of_text(repr((operators, self.inputs)))

    @property
    def over_batch(self) -> tuple[str, ...]:
        return tuple(f"{node.name} ({OF_BATCH})" for node in self.proto.graph.node if node.op_type == OF_BATCH)

    @property
    def weights(self) -> int:
        return sum(math.prod(one.dims) for one in self.proto.graph.initializer if one.data_type != INT64)

    @cached_property
    def inner(self) -> dict[str, GraphLayer]:
        return inner_of(self.proto)

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
        opened = self._opened(watching(self.proto, inner, watch) if inner else self.proto)
        names = [value.name for value in opened.get_outputs()]
        reader = cache(partial(self._reader, watch.layers))  # opened only once a layer is not finite

        def run(arrays: Arrays) -> ModelRun:
            values = dict(zip(names, opened.run(names, dict(arrays)), strict=True))
            return ModelRun(
                {slot.name: values[slot.name] for slot in self.outputs},
                self._sound({one.layer.name: _neurons(one, values, watch) for one in inner}, arrays, watch, reader),
                {one.layer.name: _ends(one, values) for one in inner} if watch.extremes else {},
            )

        return run

    def _sound(
        self, activations: dict[str, Array], arrays: Arrays, watch: LayerWatch, reader: Callable[[], Reader]
    ) -> Arrays:
        """The same, finite wherever a layer is: a sum of large finite values overflows inside the graph."""
        doubtful = [name for name, values in activations.items() if not finite(values)]
        if not doubtful or watch.every_unit:
            return activations
        seen = reader()(arrays, doubtful)
        return {
            **activations,
            **{name: neurons(value, self.inner[name].sequence, False) for name, value in seen.items()},
        }

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        read = self._reader(layers)
        return lambda arrays: read(arrays, layers)

    def _reader(self, layers: Sequence[str]) -> Reader:
        """Gives some of these layers as they are."""
        tensors = {name: self.inner[name].tensor for name in layers}
        opened = self._opened(watching(self.proto, [self.inner[name] for name in layers], LayerWatch(every_unit=True)))

        def read(arrays: Arrays, some: Sequence[str]) -> Arrays:
            names = [tensors[name] for name in some]
            return dict(zip(some, opened.run(names, dict(arrays)), strict=True)) if names else {}

        return read

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        raise no_gradients("ONNX Runtime")

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        return onnx_twin(self, name, sample, making)

    def _opened(self, proto: onnx.ModelProto) -> Any:
        """A session of ONNX Runtime, on as many threads as torch has."""
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
        options.log_severity_level = 4  # failures are raised, warnings are not ours to mend
        options.add_session_config_entry(FOLDER, str(self.path.parent.absolute()))
        opened = attempt(
            partial(runtime.InferenceSession, proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        )
        if isinstance(opened, Crash):
            raise ModelRefused(f"{self.path} cannot be run by ONNX Runtime ({opened.message}): export it again")
        return opened


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelRefused(f"an .onnx file {MISSING}") from error
    return onnxruntime


def _neurons(one: GraphLayer, values: Arrays, watch: LayerWatch) -> Array:
    """What a layer gives, as neurons [batch, neurons]."""
    if mean_of(one) in values:
        return values[mean_of(one)]
    return neurons(values[one.tensor], one.sequence, watch.every_unit)


def _ends(one: GraphLayer, values: Arrays) -> Array:
    least, most = f"{LEAST}:{one.tensor}", f"{MOST}:{one.tensor}"
    if least in values:
        return np.stack([values[least], values[most]], 1)
    return ends(values[one.tensor])


def open_onnx(path: Path, loading: Loading) -> OnnxModel:
    """The model in a file, checked before any runtime opens it."""
    try:
        import onnx
    except ImportError as error:
        raise ModelRefused(f"{path} {MISSING}") from error
    with refusing(path):
        proto = checked_onnx(path, onnx.defs.onnx_opset_version())
    strange = unknown_domains(proto)
    if strange:
        raise ModelRefused(
            f"{path} has operators of {', '.join(strange)}, which need a library of their own: export it without "
            f"custom operators"
        )
    return OnnxModel(path, proto, sized(inputs_of(proto), loading.shapes), slots_of(proto.graph.output))


def _load(path: Path, loading: Loading) -> Subject:
    model = open_onnx(path, loading)
    model.session()  # so that what the runtime cannot run is refused here
    return ArraySubject.of_model(model)


ONNX = SubjectKind("ONNX", lambda path: path.suffix == ".onnx", _load, engines=("onnxruntime",), twins=ONNX_TWINS)

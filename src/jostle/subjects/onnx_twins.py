"""Twins of ONNX models: quantised or rounded by ONNX Runtime's own tools, or run by OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.array_model import Arrays
from jostle.subjects.openvino_conversion import write_openvino
from jostle.subjects.twin_making import TwinMaking, share_of_weights

if TYPE_CHECKING:
    import onnx

    from jostle.subjects.onnx_file import OnnxModel

CALIBRATED_AT_ONCE = 16  # rows that scales are measured on, where a model takes any number
ONE_FILE = 3 * 2**29  # bytes of weights that fit into one file beside the rest
QUANTISED = ("QuantizeLinear", "DynamicQuantizeLinear")
ONNX_TWINS = {
    "float16": "converted to half precision, computing in float32 what ONNX Runtime cannot",
    "weights16": "weights rounded to 16 bit, computing in float32; weights16:50% rounds a random half",
    "int8": "dynamically quantised to int8 by ONNX Runtime",
    "int8-static": "quantised to int8 by ONNX Runtime with scales measured on the seeds",
    "openvino": "converted and run by OpenVINO",
}
NO_BFLOAT16 = "--twin bfloat16 cannot be made of ONNX: ONNX Runtime has no bfloat16 on the CPU; use float16"


def onnx_twin(model: OnnxModel, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
    """The file of the twin of that name, None if there is none; the sample holds what the model is given."""
    if name == "bfloat16":
        raise ModelRefused(NO_BFLOAT16)
    if name == "openvino":
        return making.written(name, ".xml", partial(write_openvino, model.path))
    share = 1.0 if name == "weights16" else share_of_weights(name)
    writers: dict[str, Callable[[onnx.ModelProto, Path], None]] = {
        "float16": _write_float16,
        "int8": _write_dynamic,
        "int8-static": partial(_write_static, batches=list(_batches(sample, model.inputs[0].shape[0]))),
    }
    if share is not None:
        writers[name] = partial(_write_weights16, share=share, seed=making.seed)
    if name not in writers:
        return None
    return making.written(name, ".onnx", lambda to: writers[name](_whole(model), to))


def _whole(model: OnnxModel) -> onnx.ModelProto:
    """A copy with its external data."""
    import onnx

    whole = onnx.ModelProto()
    whole.CopyFrom(model.proto)
    onnx.load_external_data_for_model(whole, str(model.path.parent))
    return whole


def _write(proto: onnx.ModelProto, to: Path) -> None:
    """Into one file, or beside it what does not fit."""
    import onnx

    onnx.save_model(proto, str(to), save_as_external_data=_is_large(proto), location=f"{to.stem}.data")


def _is_large(proto: onnx.ModelProto) -> bool:
    return sum(len(one.raw_data) for one in proto.graph.initializer) > ONE_FILE


def _write_weights16(proto: onnx.ModelProto, to: Path, share: float, seed: int) -> None:
    """A random share of its weights rounded to 16 bit (DeepHunter, §4.6); single numbers are no weights."""
    from onnx import TensorProto, numpy_helper

    rng = np.random.default_rng(seed)
    for weights in proto.graph.initializer:
        if weights.data_type == TensorProto.FLOAT and weights.dims:
            values = numpy_helper.to_array(weights)
            with np.errstate(over="ignore"):  # what is too large becomes infinite, as it does on disk
                rounded = np.where(rng.random(values.shape) < share, values.astype(np.float16), values)
            weights.CopyFrom(numpy_helper.from_array(rounded.astype(np.float32), weights.name))
    _write(proto, to)


def _write_float16(proto: onnx.ModelProto, to: Path) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    _write(convert_float_to_float16(proto, keep_io_types=True), to)


def _write_dynamic(proto: onnx.ModelProto, to: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    ready = _ready_to_quantise(proto, to.parent)
    # Unsigned weights: sums of products of signed ones saturate on processors without VNNI.
    quantize_dynamic(ready, str(to), weight_type=QuantType.QUInt8, use_external_data_format=_is_large(ready))
    _check_quantised(to)


def _write_static(proto: onnx.ModelProto, to: Path, batches: list[Arrays]) -> None:
    from onnxruntime.quantization import QuantType, quantize_static

    ready = _ready_to_quantise(proto, to.parent)
    quantize_static(
        ready,
        str(to),
        _calibration(batches),
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QUInt8,
        use_external_data_format=_is_large(ready),
    )
    _check_quantised(to)


def _ready_to_quantise(proto: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """With batch norms folded into convolutions and shapes known, as the quantiser's documentation advises."""
    import onnx
    from onnxruntime.quantization.shape_inference import quant_pre_process

    ready = folder / "ready.onnx"
    prepare = partial(quant_pre_process, proto, str(ready), save_as_external_data=_is_large(proto))
    if isinstance(attempt(prepare), Crash):
        prepare(skip_symbolic_shape=True)  # which does not know every operator, and helps only
    model = onnx.load(str(ready))
    for left in folder.glob("ready.onnx*"):
        left.unlink()
    return model


def _calibration(batches: list[Arrays]) -> Any:
    """What ONNX Runtime measures scales on."""
    from onnxruntime.quantization import CalibrationDataReader

    class Batches(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(batches)

        def get_next(self) -> Arrays | None:
            return next(self._left, None)

    return Batches()


def _batches(sample: Arrays, batch: int | None) -> Iterator[Arrays]:
    """The sample in batches; where a model takes only one size, the last repeats its last row to have it."""
    count, size = len(next(iter(sample.values()))), batch or CALIBRATED_AT_ONCE
    for start in range(0, count, size):
        rows = np.arange(start, start + size if batch else min(start + size, count)).clip(max=count - 1)
        yield {name: values[rows] for name, values in sample.items()}


def _check_quantised(path: Path) -> None:
    import onnx

    if not any(node.op_type in QUANTISED for node in onnx.load(str(path), load_external_data=False).graph.node):
        raise ModelRefused(
            "--twin int8 and int8-static quantise what ONNX Runtime can, and it can nothing in this model: choose "
            "another twin"
        )

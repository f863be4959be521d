"""The layers of a Keras model: which there are, what they are like, and what they give while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from jostle.subjects.array_model import LayerWatch
from jostle.subjects.layers import Layer

LOGITS = ":logits"  # behind the name of a layer that ends in softmax: what that is given
SOFTMAX = ("softmax", "log_softmax")  # activations
SOFTMAX_LAYERS = ("Softmax", "LogSoftmax")
CLIPPING = ("relu", "relu6")  # activations
# Layers that pass on what another computed as it is.
SILENT = (
    *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "AlphaDropout"),
    *("GaussianNoise", "ActivityRegularization", "Flatten", "Reshape", "Permute", "Identity", "Masking"),
    *("RepeatVector", "Cast", "Squeeze", "ExpandDims", "Transpose"),
)
# Layers that pass on, clip or reshape what another computed: never the first to hold NaN or infinity.
PASSIVE = (
    *SILENT,
    *("ReLU", "Relu", "Relu6", "Concatenate", "GetItem", "UpSampling1D", "UpSampling2D", "UpSampling3D"),
    *("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "Cropping1D", "Cropping2D", "Cropping3D", "ZeroPadding1D"),
    *("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "ZeroPadding2D", "ZeroPadding3D"),
)
# Layers and operations that are an activation of each element, or a normalisation.
ACTIVATING = (
    *("ReLU", "Relu", "Relu6", "LeakyReLU", "LeakyRelu", "PReLU", "ELU", "Elu", "Selu", "Celu", "Gelu", "Silu", "Mish"),
    *("Sigmoid", "LogSigmoid", "Tanh", "HardTanh", "HardSigmoid", "HardSilu", "HardShrink", "SoftShrink", "TanhShrink"),
    *("Softplus", "Softsign", "Threshold", "BatchNormalization", "LayerNormalization", "GroupNormalization"),
    *("RMSNormalization", "UnitNormalization"),
)
HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class KerasLayer:
    """A layer or an operation of a Keras model."""

    layer: Layer
    operation: Any
    channels_last: bool
    logits: bool = False  # what its activation is given is meant, not what it gives

    @property
    def hooked(self) -> str:
        """The attribute that computes what is meant."""
        if self.logits:
            return "activation"
        return "call" if getattr(self.operation, "quantization_mode", None) is None else "quantized_call"


def parts_of(model: Any) -> dict[str, KerasLayer]:
    """Everything that may be watched, by name in order of computation; what is in a model inside is `outer/inner`."""
    operations = dict(_operations(model, ""))
    formats = Counter(getattr(operation, "data_format", None) for operation in operations.values())
    usual = "channels_first" if formats["channels_first"] > formats["channels_last"] else "channels_last"
    parts: list[KerasLayer] = []
    for name, operation in operations.items():
        last = (getattr(operation, "data_format", None) or usual) != "channels_first"
        softmax = _activation(operation) in SOFTMAX
        if softmax and type(operation).__name__ != "Activation":
            parts.append(KerasLayer(Layer(name + LOGITS, False, False, False), operation, last, logits=True))
        layer = replace(_layer(name, operation), handed_on=_handed_on(operation, _returned(model)))
        parts.append(KerasLayer(layer, operation, last))
    return {part.layer.name: part for part in parts}


def _operations(model: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    import keras

    for operation in getattr(model, "operations", None) or model.layers:
        if isinstance(operation, keras.Model):
            yield from _operations(operation, f"{prefix}{operation.name}/")
        elif not isinstance(operation, keras.layers.InputLayer):
            yield f"{prefix}{operation.name}", operation


def _activation(operation: Any) -> str:
    return getattr(getattr(operation, "activation", None), "__name__", "")


def _layer(name: str, operation: Any) -> Layer:
    kind, activation = type(operation).__name__, _activation(operation)
    clips = kind == "Activation" and activation in CLIPPING
    softmax = kind in SOFTMAX_LAYERS or activation in SOFTMAX
    return Layer(name, softmax, clips or kind in PASSIVE, kind in SILENT)


def _returned(model: Any) -> set[int]:
    """The operations, by identity, whose results the model returns; none of one that has no graph."""
    histories = (getattr(one, "_keras_history", None) for one in getattr(model, "outputs", None) or ())
    return {id(history.operation) for history in histories if history is not None}


def _handed_on(operation: Any, returned: set[int]) -> bool:
    """Whether an activation or a normalisation takes all that it gives, by the graph that Keras keeps."""
    users = [node.operation for node in getattr(operation, "_outbound_nodes", ())]
    if len(users) != 1 or id(operation) in returned:
        return False
    kind, activation = type(users[0]).__name__, _activation(users[0])
    return kind in ACTIVATING or (kind == "Activation" and activation not in SOFTMAX)


@contextmanager
def recording(parts: Sequence[KerasLayer]) -> Iterator[Mapping[str, list[Any]]]:
    """Fills what it gives with what the parts give until it ends, by name once for each time that they are called."""
    seen: dict[str, list[Any]] = {part.layer.name: [] for part in parts}
    before = [(vars(part.operation), part.hooked, vars(part.operation).get(part.hooked)) for part in parts]
    try:
        for part in parts:
            vars(part.operation)[part.hooked] = _noting(part, seen[part.layer.name])
        yield seen
    finally:
        for attributes, name, value in before:
            if value is None:
                del attributes[name]
            else:
                attributes[name] = value


def _noting(part: KerasLayer, seen: list[Any]) -> Callable[..., Any]:
    import keras

    own = getattr(part.operation, part.hooked)

    def note(*given: Any, **named: Any) -> Any:
        returned = own(*given, **named)
        seen.append(given[0] if part.logits else keras.tree.flatten(returned)[0])
        return returned

    return note


def looked_at(parts: Sequence[KerasLayer], watch: LayerWatch, seen: Mapping[str, list[Any]]) -> tuple[Named, Named]:
    """Neurons [batch, neurons] and extremes [batch, 2] by layer; one that is called again is a layer of its own."""
    activations, extremes = {}, {}
    for part in parts:
        for number, values in enumerate(map(widened, seen[part.layer.name]), 1):
            name = part.layer.name if number == 1 else f"{part.layer.name}#{number}"
            activations[name] = _neurons(part, values, watch.every_unit)
            if watch.extremes:
                extremes[name] = _ends(values)
    return activations, extremes


Named = dict[str, Any]  # by layer


def widened(values: Any) -> Any:
    """The same in single precision, if they are in half of it, which numpy knows too little of."""
    import keras

    half = keras.backend.standardize_dtype(values.dtype) in HALVES
    return keras.ops.cast(values, "float32") if half else values


def _neurons(part: KerasLayer, values: Any, every_unit: bool) -> Any:
    from keras import ops

    rank = len(values.shape)
    if every_unit or rank <= 2:
        return _flat(values)
    rest = tuple(range(1, rank - 1)) if part.channels_last else tuple(range(2, rank))
    if all(isinstance(values.shape[axis], int) for axis in rest):
        # Divided first, because a sum of large finite values overflows, and infinity must stay the layer's own.
        return ops.sum(values / prod(values.shape[axis] for axis in rest), rest)
    return ops.mean(values, rest)


def _ends(values: Any) -> Any:
    from keras import ops

    flat = _flat(values)
    return ops.stack([ops.min(flat, 1), ops.max(flat, 1)], 1)


def _flat(values: Any) -> Any:
    from keras import ops

    return ops.reshape(values, (ops.shape(values)[0], -1))

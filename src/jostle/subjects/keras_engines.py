"""What Keras computes with: TensorFlow, JAX or torch, of which a process has one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from jostle.errors import ModelRefused
from jostle.subjects.array_model import Array, Slot
from jostle.subjects.silence import silenced

ENGINES = ("tensorflow", "jax", "torch")
MISSING = "needs Keras: pip install 'jostle[tensorflow]'"
CHOICE = "KERAS_BACKEND"  # the environment variable that Keras reads when it is imported
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}  # unless the user's environment says otherwise
EVERY_SIZE = 64  # rows up to which batches are filled up to a power of two, and beyond to a multiple of this

Traced = Callable[..., Sequence[Any]]  # inputs to outputs, all tensors of the engine
Forward = Callable[[Sequence[Array]], list[Array]]
Pull = Callable[[Sequence[Array | None]], Array]
"""Weights of each output, None where it has none, to the gradient by the first input."""
Differentiable = Callable[[Sequence[Array]], tuple[list[Array], Pull]]


def keras_on(engine: str | None, what: str) -> Any:
    """Keras, computing with this engine, the one that is chosen already, or the first that is installed."""
    usual = next(one for one in ENGINES if find_spec(one) is not None)
    engine = engine or _current() or os.environ.get(CHOICE) or usual
    if find_spec("keras") is None:
        raise ModelRefused(f"{what} {MISSING}")
    if find_spec(engine) is None:
        raise ModelRefused(f"--engine {engine} is not installed: pip install 'jostle[{engine}]'")
    if (current := _current()) not in (None, engine):
        raise ModelRefused(
            f"Keras computes with {current} in this process, not with {engine}: leave out --no-isolate, so that "
            f"{what} gets a process of its own"
        )
    with silenced(native=True):  # on some processors TensorFlow says how it computes, with no level to stop it
        return _imported(engine)


def _current() -> str | None:
    """What Keras computes with already."""
    keras = sys.modules.get("keras")
    return None if keras is None else str(keras.backend.backend())


def _imported(engine: str) -> Any:
    os.environ[CHOICE] = engine
    os.environ.setdefault("PJRT_NPROC", str(torch.get_num_threads()))  # threads of JAX
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import keras

    if engine == "tensorflow":
        tensorflow()
    return keras


def tensorflow() -> Any:
    """TensorFlow, on as many threads as torch has."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with silenced(native=True):
        import tensorflow as tf

    with suppress(RuntimeError):  # it computes already
        tf.config.threading.set_intra_op_parallelism_threads(torch.get_num_threads())
        tf.config.threading.set_inter_op_parallelism_threads(1)
    return tf


@dataclass(frozen=True, eq=False)
class OnTensorFlow:
    """Computes by a graph that takes batches of any size."""

    inputs: tuple[Slot, ...]

    def compiled(self, function: Traced) -> Forward:
        import tensorflow as tf

        graph = self._graph(function)
        return lambda arrays: [_array(value) for value in graph(*map(tf.constant, arrays))]

    def differentiable(self, function: Traced) -> Differentiable:
        import tensorflow as tf

        graph = self._graph(function)

        def forward(arrays: Sequence[Array]) -> tuple[list[Array], Pull]:
            given = [tf.constant(array) for array in arrays]
            with tf.GradientTape() as tape:
                tape.watch(given[0])
                outputs = graph(*given)

            def pull(weights: Sequence[Array | None]) -> Array:
                pairs = [pair for pair in _weighed(outputs, weights) if pair[0].dtype.is_floating]
                if not pairs:
                    return np.zeros_like(arrays[0])
                values, by = [value for value, _ in pairs], [tf.cast(weight, value.dtype) for value, weight in pairs]
                gradient = tape.gradient(values, given[0], by, tf.UnconnectedGradients.ZERO)
                return _array(tf.convert_to_tensor(gradient))

            return [_array(value) for value in outputs], pull

        return forward

    def _graph(self, function: Traced) -> Any:
        import tensorflow as tf

        signature = [tf.TensorSpec(slot.shape, slot.dtype) for slot in self.inputs]
        return tf.function(lambda *given: function(*given), input_signature=signature, autograph=False)


@dataclass(frozen=True, eq=False)
class OnJax:
    """Computes by programs that are compiled for each size of a batch; batches are filled up, so that these are few."""

    inputs: tuple[Slot, ...]
    model: Any

    def compiled(self, function: Traced) -> Forward:
        import jax

        program, values = jax.jit(self._stateless(function)), self._values()

        def forward(arrays: Sequence[Array]) -> list[Array]:
            rows, size = len(arrays[0]), self._size(len(arrays[0]))
            return [_first(value, rows, size) for value in program(values, *(_filled(one, size) for one in arrays))]

        return forward

    def differentiable(self, function: Traced) -> Differentiable:
        import jax

        stateless, values = self._stateless(function), self._values()
        linear = jax.jit(lambda values, first, *rest: jax.vjp(lambda x: stateless(values, x, *rest), first))
        backward = jax.jit(lambda pull, weights: pull(weights)[0])

        def forward(arrays: Sequence[Array]) -> tuple[list[Array], Pull]:
            rows, size = len(arrays[0]), self._size(len(arrays[0]))
            outputs, vjp = linear(values, *(_filled(one, size) for one in arrays))

            def pull(weights: Sequence[Array | None]) -> Array:
                given = [_cotangent(*pair) for pair in zip(outputs, weights, strict=True)]
                return _first(backward(vjp, given), rows, size)

            return [_first(value, rows, size) for value in outputs], pull

        return forward

    def _values(self) -> list[Any]:
        return [variable.value for variable in self.model.variables]

    def _stateless(self, function: Traced) -> Traced:
        """The function of the weights too, which a program would hold as constants otherwise."""
        import keras

        def stateless(values: Sequence[Any], *given: Any) -> Sequence[Any]:
            with keras.StatelessScope(list(zip(self.model.variables, values, strict=True))):
                return function(*given)

        return stateless

    def _size(self, rows: int) -> int:
        if self.inputs[0].shape[0] is not None:
            return rows
        return 1 << (rows - 1).bit_length() if rows <= EVERY_SIZE else -(-rows // EVERY_SIZE) * EVERY_SIZE


@dataclass(frozen=True, eq=False)
class OnTorch:
    """Computes step by step."""

    def compiled(self, function: Traced) -> Forward:
        def forward(arrays: Sequence[Array]) -> list[Array]:
            with torch.no_grad():
                return [_of_torch(value) for value in function(*map(_to_torch, arrays))]

        return forward

    def differentiable(self, function: Traced) -> Differentiable:
        def forward(arrays: Sequence[Array]) -> tuple[list[Array], Pull]:
            given = [_to_torch(array) for array in arrays]
            with torch.enable_grad():
                outputs = function(given[0].requires_grad_(), *given[1:])

            def pull(weights: Sequence[Array | None]) -> Array:
                pairs = [pair for pair in _weighed(outputs, weights) if pair[0].requires_grad]
                values, by = [value for value, _ in pairs], [torch.from_numpy(one).to(value) for value, one in pairs]
                gradient = torch.autograd.grad(values, given[0], by, allow_unused=True)[0] if pairs else None
                return _of_torch(torch.zeros_like(given[0]) if gradient is None else gradient)

            return [_of_torch(value) for value in outputs], pull

        return forward


Engine = OnTensorFlow | OnJax | OnTorch


def engine_of(model: Any, inputs: tuple[Slot, ...]) -> Engine:
    """What a Keras model computes with."""
    match _current():
        case "tensorflow":
            return OnTensorFlow(inputs)
        case "jax":
            return OnJax(inputs, model)
        case "torch":
            return OnTorch()
        case other:
            raise ModelRefused(f"Keras computes with {other}: give --engine {', '.join(ENGINES)}")


def _weighed(outputs: Sequence[Any], weights: Sequence[Array | None]) -> list[tuple[Any, Array]]:
    return [(value, weight) for value, weight in zip(outputs, weights, strict=True) if weight is not None]


def _array(value: Any) -> Array:
    found: Array = value.numpy()
    return found


def _to_torch(array: Array) -> Any:
    """A copy, because a model may write into it."""
    import keras

    return keras.ops.convert_to_tensor(array).detach().clone()


def _of_torch(value: Any) -> Array:
    found: Array = value.detach().cpu().numpy()
    return found


def _filled(array: Array, size: int) -> Array:
    """The rows and, up to the size, the last again."""
    return array if len(array) == size else np.concatenate([array, array[-1:].repeat(size - len(array), 0)])


def _first(value: Any, rows: int, size: int) -> Array:
    """The rows of a batch that was filled up to a size; what has no row for each input stays as it is."""
    whole = np.array(value)
    return np.array(whole[:rows]) if whole.shape[:1] == (size,) else whole


def _cotangent(output: Any, weight: Array | None) -> Any:
    """Weights of an output in its shape, none for rows that filled up a batch; of whole numbers, what JAX takes."""
    import jax

    if not np.issubdtype(output.dtype, np.floating):
        return np.zeros(output.shape, jax.dtypes.float0)
    whole = np.zeros(output.shape, output.dtype)
    if weight is not None:
        whole[: len(weight)] = weight
    return whole

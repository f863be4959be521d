"""Every lowering by the name that users type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jostle.frameworks.backends.jax.programs import JaxPrograms
from jostle.frameworks.backends.onnx.opsets import Opsets
from jostle.frameworks.backends.onnx.programs import (
    ONNXRUNTIME,
    ONNXRUNTIME_BASIC,
    ONNXRUNTIME_EXTENDED,
    ONNXRUNTIME_PLAIN,
    OPENVINO,
    OnnxLowering,
)
from jostle.frameworks.backends.paddle.programs import EAGER as PADDLE
from jostle.frameworks.backends.paddle.programs import STATIC as PADDLE_STATIC
from jostle.frameworks.backends.program import Lowering
from jostle.frameworks.backends.pytensor.programs import PytensorPrograms
from jostle.frameworks.backends.tensorflow.programs import TENSORFLOW_EAGER, TENSORFLOW_XLA, TensorFlow
from jostle.frameworks.backends.torch.programs import AOT, EAGER, EXPORT, INDUCTOR, ONNX
from jostle.options.choices import chosen

# By the folder beside this file that is theirs
WATCHED: Mapping[str, tuple[Lowering, ...]] = {
    "torch": (EAGER, AOT, INDUCTOR, EXPORT, ONNX),
    "onnx": (ONNXRUNTIME, ONNXRUNTIME_PLAIN, ONNXRUNTIME_BASIC, ONNXRUNTIME_EXTENDED, OPENVINO),
    "jax": (JaxPrograms(), JaxPrograms("jax-eager", jit=False)),
    "tensorflow": (TensorFlow(), TENSORFLOW_EAGER, TENSORFLOW_XLA),
    "paddle": (PADDLE, PADDLE_STATIC),
    "pytensor": (PytensorPrograms(),),
}
ONNX_RUNTIME = ONNXRUNTIME.module  # of all lowerings for it
LOWERINGS: Mapping[str, Lowering] = {one.name: one for lowerings in WATCHED.values() for one in lowerings}


def lowering_named(name: str) -> Lowering:
    return LOWERINGS[chosen("backend", name, LOWERINGS)]


def written_in(lowering: Lowering, opsets: Opsets) -> Lowering:
    """The same lowering, with ONNX models of these operator sets."""
    return replace(lowering, opsets=opsets) if isinstance(lowering, OnnxLowering) else lowering


def signals_of(lowering: Lowering) -> str:
    """The module that watches this lowering's programs."""
    folder = next(folder for folder, lowerings in WATCHED.items() if lowering in lowerings)
    return f"jostle.frameworks.backends.{folder}.signals"

"""Every lowering by the name that users type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from jostle.errors import UsageError
from jostle.frameworks.lowerings.jax_programs import JaxPrograms
from jostle.frameworks.lowerings.onnx_programs import ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO
from jostle.frameworks.lowerings.paddle_programs import Paddle
from jostle.frameworks.lowerings.program import Lowering
from jostle.frameworks.lowerings.pytensor_programs import PytensorPrograms
from jostle.frameworks.lowerings.tensorflow_programs import TensorFlow
from jostle.frameworks.lowerings.torch_programs import AOT, EAGER, INDUCTOR

# By the module of jostle.frameworks.signals that watches them
WATCHED: Mapping[str, tuple[Lowering, ...]] = {
    "torch_signals": (EAGER, AOT, INDUCTOR),
    "onnx_signals": (ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO),
    "jax_signals": (JaxPrograms(),),
    "tensorflow_signals": (TensorFlow(),),
    "paddle_signals": (Paddle(),),
    "pytensor_signals": (PytensorPrograms(),),
}
LOWERINGS: Mapping[str, Lowering] = {one.name: one for lowerings in WATCHED.values() for one in lowerings}


def lowering_named(name: str) -> Lowering:
    if name not in LOWERINGS:
        near = difflib.get_close_matches(name, LOWERINGS, n=1)
        hint = f", did you mean {near[0]!r}?" if near else f": choose among {', '.join(LOWERINGS)}"
        raise UsageError(f"there is no backend {name!r}{hint}")
    return LOWERINGS[name]


def signals_of(lowering: Lowering) -> str:
    """The module that watches this lowering's programs."""
    return next(module for module, lowerings in WATCHED.items() if lowering in lowerings)

"""A finding as a script that runs anywhere the framework is installed."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.backends.program import Lowering, arrays_of
from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.judging.reference_bounds import distance
from jostle.frameworks.judging.tolerances import RELATIVE, rounded
from jostle.frameworks.operators.all_operators import types_of

WRITTEN_OUT = 200  # elements
IMPORTING = ("import ", "from ")
CHECK = """
for name, (values, dtype, tolerance) in expected.items():
    print(f"{name}: {result[name]!r}, expected: {values!r}")
    assert (result[name].dtype, result[name].shape) == (dtype, values.shape)
    np.testing.assert_allclose(result[name], values, rtol=0, atol=tolerance)
"""


def script(
    graph: Graph,
    phase: str,
    lowering: Lowering,
    expected: Mapping[str, Array],
    seen: Mapping[str, Array] | None,
    *,
    eager: bool = False,
    first: Sequence[str] = (),
) -> str:
    """A program that exits with 1 as long as the framework does what was seen, and with 0 once it is mended.

    `seen` is None if the framework raised, which then ends the script as well. `eager`: what is expected is what the
    same framework computes eagerly, so that a tenth of any difference is too much. `first` are lines that it begins
    with after its imports.
    """
    program = lowering.program(graph, phase).strip("\n")
    arrays = [f"{name} = {array_literal(array)}" for name, array in arrays_of(graph, phase).items()]
    imports, body = _split_imports(program)
    parts = [*_imports(imports, "".join(arrays)), *first, "", *arrays, "", *body, ""]
    if not expected:
        return "\n".join(parts)
    listed = [
        f'    "{name}": {_expected_literal(name, np.asarray(array), graph, seen, eager)},'
        for name, array in expected.items()
    ]
    how = "eagerly" if eager else "in float64"
    return "\n".join([*parts, f"expected = {{  # computed {how}", *listed, "}", CHECK.strip(), ""])


def _split_imports(program: str) -> tuple[list[str], list[str]]:
    """What a program imports first, and the rest of it."""
    lines = program.splitlines()
    count = next((place for place, line in enumerate(lines) if line and not line.startswith(IMPORTING)), len(lines))
    return [line for line in lines[:count] if line], lines[count:]


def _imports(lines: Sequence[str], arrays: str) -> list[str]:
    """All imports of a script, each once: the standard library's before the others."""
    standard = ["import base64", ""] if "b64decode" in arrays else []
    return [*standard, *dict.fromkeys(["import numpy as np", *lines])]


def _expected_literal(name: str, values: Array, graph: Graph, seen: Mapping[str, Array] | None, eager: bool) -> str:
    """A result's values, dtype, and how far it may lie from them, as a tuple in Python."""
    dtype = _dtype(name, graph)
    if dtype in RELATIVE:
        values = np.where(np.abs(values) > np.finfo(dtype).max, rounded(values, dtype), values)
    granted = 0.0 if eager else RELATIVE.get(dtype, 0.0)
    return f'({array_literal(values)}, "{dtype}", {_tolerance(values, seen, name, granted)!r})'


def _dtype(name: str, graph: Graph) -> str:
    """The dtype that a result should have."""
    types = types_of(graph)
    return types[graph.outputs[0] if name == "loss" else name if name in types else name.removeprefix("d_")].dtype


def _tolerance(expected: Array, seen: Mapping[str, Array] | None, name: str, granted: float) -> float:
    """Some roundings, or a tenth of what was seen if that was more than is granted."""
    if expected.dtype.kind != "f":
        return 0.0
    size = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    usual = 10 * granted * size
    if seen is not None and name in seen and seen[name].shape == expected.shape:
        far = distance(seen[name], expected)
        largest = far[np.isfinite(far)].max(initial=0.0)
        usual = largest / 10 if largest > granted * size else usual
    return float(f"{usual:.3g}")


def array_literal(array: Array) -> str:
    """An array as numpy reads it, short if it is simple or large."""
    dtype = array.dtype.name
    if array.size == 0:
        return f'np.zeros({array.shape}, "{dtype}")'
    if array.size > 1 and len({one.tobytes() for one in array.ravel()}) == 1:
        return f'np.full({array.shape}, {number_literal(array.flat[0])}, "{dtype}")'
    if array.size > WRITTEN_OUT:
        content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return f'np.frombuffer(base64.b64decode("{content}"), "{dtype}").reshape({array.shape})'
    return f'np.array({_nested(array)}, "{dtype}")'


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return number_literal(array[()])
    return "[" + ", ".join(_nested(one) for one in array) + "]"


def number_literal(value: Any) -> str:
    """The shortest text that reads as the same number of its dtype."""
    if np.issubdtype(type(value), np.floating) and not np.isfinite(value):
        return {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}[str(value)]
    return str(value)

"""How Paddle's static programs run a model: built of placeholders, and executed as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jostle.frameworks.backends.program import INDENT, Unsupported, differentiated, float_outputs
from jostle.frameworks.graph import Graph


def predicted(graph: Graph) -> list[str]:
    return _executed(graph, (), (), list(graph.outputs))


def differentiated_statically(graph: Graph) -> list[str]:
    """Gradients are part of the program; None stands for what no output depends on."""
    outputs, leaves = float_outputs(graph), differentiated(graph)
    if not outputs or not leaves:
        raise Unsupported("has nothing to take a gradient of")
    cotangents = [f"cotangent_{name}" for name in outputs]
    gradients = [f"d_{name}" for name in leaves]
    taken = f"paddle.static.gradients([{', '.join(outputs)}], [{', '.join(leaves)}], [{', '.join(cotangents)}])"
    build = [f"{', '.join(gradients)}{',' * (len(gradients) == 1)} = {taken}"]
    return _executed(graph, cotangents, build, [*graph.outputs, *gradients], leaves)


def _executed(
    graph: Graph, more: Sequence[str], build: Iterable[str], results: Sequence[str], trainable: Sequence[str] = ()
) -> list[str]:
    """The program with these placeholders besides the leaves, and its results as arrays."""
    given = [*graph.leaves, *more]
    placeholders = [f'{name} = paddle.static.data("{name}", {name}.shape, str({name}.dtype))' for name in given]
    followed = [f"{name}.stop_gradient = False" for name in trainable]
    called = f"{', '.join(graph.outputs)} = model({', '.join(graph.leaves)})"
    return [
        f"given = {_dict(given)}",
        "paddle.enable_static()",
        "program = paddle.static.Program()",
        "with paddle.static.program_guard(program):",
        *(INDENT + line for line in (*placeholders, *followed, called, *build)),
        f"{INDENT}wanted = {{name: one for name, one in {_dict(results)}.items() if one is not None}}",
        "executor = paddle.static.Executor(paddle.CPUPlace())",
        "computed = executor.run(program, feed=given, fetch_list=list(wanted.values()))",
        "paddle.disable_static()",
        "result = dict(zip(wanted, computed))",
        *(f'result.setdefault("d_{name}", np.zeros_like(given["{name}"]))' for name in trainable),
    ]


def _dict(names: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}' for name in dict.fromkeys(names)) + "}"

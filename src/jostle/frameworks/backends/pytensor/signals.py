"""What PyTensor made of a program: the operators of its rewritten graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def prepare() -> None:
    import pytensor  # noqa: F401  (slow the first time)


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """Runs a program; class, scalar operator and dtype of every node of the function it left as `compiled`."""
    run()
    compiled = namespace.get("compiled")
    return set() if compiled is None else {_signal(node) for node in compiled.maker.fgraph.apply_nodes}


def _signal(node: Any) -> str:
    scalar = getattr(node.op, "scalar_op", None)
    inner = [] if scalar is None else [type(scalar).__name__]
    return ":".join(["pytensor", type(node.op).__name__, *inner, str(getattr(node.outputs[0], "dtype", "none"))])


def after() -> None:
    """A function is freed with the program's namespace: nothing is kept."""

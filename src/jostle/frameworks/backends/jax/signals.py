"""What XLA made of a program: the instructions of its optimised HLO."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# "%name = f32[2,3]{1,0} fusion(…), kind=kLoop, calls=…"; of tuples only that they are some.
INSTRUCTION = re.compile(r"= (\(|\w+)\S*.*? ([a-z][a-z0-9-]*)\(")
DETAIL = re.compile(r'(?:kind|custom_call_target|direction|feature_group_count)="?(\w+)"?')


def prepare() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """Runs a program; opcode, dtype and kind of every instruction of what it left as `compiled`."""
    run()
    compiled = namespace.get("compiled")
    return set() if compiled is None else signals_of(compiled.as_text())


def signals_of(hlo: str) -> set[str]:
    found = (line for line in hlo.splitlines() if " = " in line)
    return {signal for line in found if (signal := _signal(line))}


def _signal(line: str) -> str:
    match = INSTRUCTION.search(line)
    if match is None:
        return ""
    dtype = "tuple" if match[1] == "(" else match[1]
    return ":".join(["hlo", match[2], dtype, *DETAIL.findall(line)])


def after() -> None:
    """Forgets what was compiled: JAX keeps it all otherwise."""
    import jax

    jax.clear_caches()

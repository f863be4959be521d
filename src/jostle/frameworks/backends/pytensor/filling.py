"""Expressions in which every number is of the tensors' own dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.backends.program import Call, Expression, literal


def number(value: Any, dtype: str) -> str:
    """A number of this dtype: PyTensor gives a plain one the dtype that holds it, and that may be a wider one."""
    return f"np.{dtype}({literal(value)})"


def filled_in(pattern: str) -> Expression:
    """`{0}` is the first input, `{alpha}` an attribute; {zero}, {one} and {half} are numbers of the first's {dtype}."""

    def expression(call: Call) -> str:
        dtype = call.types[0].dtype
        attributes = {
            name: number(value, dtype) if isinstance(value, float) and call.types[0].is_float else literal(value)
            for name, value in call.attributes.items()
        }
        constants = {"zero": number(0, dtype), "one": number(1, dtype), "half": number(0.5, dtype)}
        return pattern.format(*call.node.inputs, **attributes, **constants, dtype=f"np.{dtype}")

    return expression


def all_filled_in(patterns: Mapping[str, str]) -> dict[str, Expression]:
    return {name: filled_in(pattern) for name, pattern in patterns.items()}

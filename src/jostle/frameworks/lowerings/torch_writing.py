"""Expressions of torch from templates, and the values that stand in them."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.lowerings.program import Call, Expression, literal


def template(text: str) -> Expression:
    """An expression in which {0}, {1} are inputs, {name} an attribute and {dtype} the result's."""

    def expression(call: Call) -> str:
        return fill(text, call)

    return expression


def templates(texts: Mapping[str, str]) -> dict[str, Expression]:
    return {name: template(text) for name, text in texts.items()}


def fill(text: str, call: Call) -> str:
    attributes = {name: literal(value) for name, value in call.attributes.items()}
    return text.format(*call.node.inputs, dtype=dtype_of(call.type.dtype), **attributes)


def dtype_of(name: str) -> str:
    return f"torch.{name}"


def shape_of(sizes: tuple[int, ...]) -> str:
    return literal(tuple(sizes))

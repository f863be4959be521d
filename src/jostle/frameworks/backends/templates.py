"""Expressions that differ from node to node in nothing but names and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal


def template(text: str) -> Expression:
    """`{0}` is the first input, `{alpha}` an attribute, `{dtype}` that of the output."""
    return lambda call: fill(text, call)


def templates(texts: Mapping[str, str]) -> dict[str, Expression]:
    return {name: template(text) for name, text in texts.items()}


def fill(text: str, call: Call) -> str:
    attributes = {name: literal(value) for name, value in call.attributes.items()}
    return text.format(*call.node.inputs, dtype=call.type.dtype, **attributes)


def named(prefix: str, text: str) -> dict[str, Expression]:
    """`operator=function` pairs of functions that take the inputs in their order and nothing else."""
    pairs = (pair.partition("=") for pair in text.split())
    return {operator: _plain(prefix + (function or operator)) for operator, _, function in pairs}


def _plain(function: str) -> Expression:
    return lambda call: f"{function}({', '.join(call.node.inputs)})"


def joined(function: str) -> Expression:
    """A function of the list of inputs, and of an axis."""
    return lambda call: f"{function}([{', '.join(call.node.inputs)}], axis={call.literal('axis')})"


def sliced(call: Call) -> str:
    """The input between brackets."""
    return f"{call[0]}[{slices(*(call.attributes[name] for name in ('starts', 'sizes', 'steps')))}]"


def slices(starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> str:
    """As they are written between brackets."""
    return ", ".join(_slice(*each) for each in zip(starts, sizes, steps, strict=True))


def _slice(start: int, size: int, step: int) -> str:
    if size == 0:
        return f"{start}:{start}"
    stop = start + (size - 1) * step + (1 if step > 0 else -1)
    return f"{start}:{stop if stop >= 0 else ''}{f':{step}' if step != 1 else ''}"


def on(dtypes: str, expression: Expression) -> Expression:
    """The same, on first inputs of these dtypes only."""

    def checked(call: Call) -> str:
        if call.types[0].dtype not in dtypes.split():
            raise Unsupported(f"has no {call.node.operator} of {call.types[0].dtype}")
        return expression(call)

    return checked


def equation(call: Call) -> str:
    """What an einsum computes, as all libraries write it."""
    a, b, result = call.attributes["equation"].split("_")
    return f'"{a},{b}->{result}"'


def turned(call: Call, place: int, flag: str) -> str:
    """An input that is a matrix, transposed if the attribute says so."""
    return f"{call[place]}.T" if call.attributes[flag] else call[place]


def columns(call: Call) -> str:
    """The columns of the second input, each of which names places along an axis, as they stand between brackets."""
    return ", ".join(f"{call[1]}[:, {column}]" for column in range(call.types[1].shape[1]))

"""The operators of torch's own graphs that multiply matrices, attend, or remember states, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod, sqrt
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, dtype_of, or_full
from jostle.frameworks.importing.building import GraphBuilder


def _linear(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    bias = or_full(builder, given["bias"], value.shape[-1:], 0.0, value)
    return builder.node("linear", given["input"], given["weight"], bias)


def _matmul(second: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        a, b = given["self"], given[second]
        if builder.types[a].rank == 1:
            a = builder.reshaped(a, (1, *builder.types[a].shape))
        if builder.types[b].rank == 1:
            b = builder.reshaped(b, (*builder.types[b].shape, 1))
        return builder.reshaped(builder.node("matmul", a, b), value.shape)

    return translate


def _addmm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if (given["beta"], given["alpha"]) != (1, 1):
        raise Untranslated("addmm with factors")
    return builder.node("add", given["self"], builder.node("matmul", given["mat1"], given["mat2"]))


def _as_sequences(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (prod(shape[:-2]), *shape[-2:])


def _attention(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if given["attn_mask"] is not None or given["dropout_p"] or given["enable_gqa"]:
        raise Untranslated("scaled_dot_product_attention with mask, dropout or groups")
    query, key, values = (
        builder.reshaped(given[name], _as_sequences(builder.types[given[name]].shape))
        for name in ("query", "key", "value")
    )
    width = builder.types[query].shape[-1]
    if given["scale"] is not None:  # ours divides by the root of the width
        query = builder.node("mul", query, builder.constant(given["scale"] * sqrt(width), dtype_of(value)))
    result = builder.node("attention", query, key, values, causal=given["is_causal"])
    return builder.reshaped(result, value.shape)


def _recurrent(operator: str) -> Translation:
    """Any number of layers, in both directions too; of the results, the states of all times."""

    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> list[str]:
        if any(builder.leaves[state].array.any() if state in builder.leaves else True for state in _states(given)):
            raise Untranslated(f"{operator} from a state")
        if given["train"] and given["dropout"]:
            raise Untranslated(f"{operator} with dropout in training")
        x = _swapped(builder, given["input"]) if given["batch_first"] else given["input"]
        weights = _by_direction(builder, given, x)
        for _ in range(given["num_layers"]):
            x = _layer(builder, operator, x, [next(weights) for _ in range(1 + given["bidirectional"])])
        return [_swapped(builder, x) if given["batch_first"] else x]

    return translate


def _states(given: Arguments) -> list[str]:
    return [given["hx"]] if isinstance(given["hx"], str) else given["hx"]


def _by_direction(builder: GraphBuilder, given: Arguments, x: str) -> Any:
    """Four weights for each layer and direction."""
    params, count = given["params"], 4 if given["has_biases"] else 2
    for start in range(0, len(params), count):
        taken, kept, *biases = params[start : start + count]
        rows, dtype = builder.types[taken].shape[:1], builder.types[x].dtype
        yield taken, kept, *(biases or [builder.full(rows, 0.0, dtype), builder.full(rows, 0.0, dtype)])


def _layer(builder: GraphBuilder, operator: str, x: str, directions: Sequence[Sequence[str]]) -> str:
    forwards = builder.node(operator, x, *directions[0])
    if len(directions) == 1:
        return forwards
    backwards = builder.node(operator, builder.node("flip", x, axes=[0]), *directions[1])
    return builder.node("concat", forwards, builder.node("flip", backwards, axes=[0]), axis=2)


def _swapped(builder: GraphBuilder, name: str) -> str:
    return builder.node("transpose", name, permutation=[1, 0, 2])


LAYERS: Mapping[str, Translation] = {
    "matmul": _matmul("other"),
    "mm": _matmul("mat2"),
    "bmm": _matmul("mat2"),
    "addmm": _addmm,
    "scaled_dot_product_attention": _attention,
    "linear": _linear,
    "rnn_tanh": _recurrent("rnn"),
    "lstm": _recurrent("lstm"),
    "gru": _recurrent("gru"),
}

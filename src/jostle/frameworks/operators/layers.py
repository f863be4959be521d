"""Products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.elementwise import partner_shape
from jostle.frameworks.operators.kinds import Random, floats, is_rows, weights
from jostle.frameworks.operators.operator import (
    FLAG,
    Extras,
    Infer,
    Operator,
    Rounding,
    Types,
    Wanted,
    broadcast,
    require,
)


def _matmul(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 2)
    a, b = types
    require(a.rank >= 2 and b.rank >= 2 and a.shape[-1] == b.shape[-2], f"{a} and {b} cannot be multiplied")
    return TensorType((*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype)


def _matmul_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    batch = partner_shape(first.shape[:-2], rng)[-3:]
    return (weights((*batch, first.shape[-1], int(rng.integers(1, 7))), first),)


def _linear(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    x, weight, bias = types
    require(x.rank >= 1 and weight.rank == 2 and weight.shape[1] == x.shape[-1], f"{weight} does not fit {x}")
    require(bias.shape == weight.shape[:1], f"{bias} does not fit {weight}")
    return TensorType((*x.shape[:-1], weight.shape[0]), dtype)


def _linear_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    units = int(rng.integers(1, 9))
    return weights((units, first.shape[-1]), first), weights((units,), first)


PRODUCTS = (
    Operator(
        "matmul",
        "product of matrices, broadcast over the axes before",
        _matmul,
        lambda x: x.is_float and x.rank >= 2,
        {},
        _matmul_extras,
    ),
    Operator("linear", "x wᵀ + b", _linear, is_rows, {}, _linear_extras),
)


def _sequence(first: TensorType) -> bool:
    return first.is_float and first.rank == 3 and first.size > 0


def _attention(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    query, key, value = types
    require(query.rank == key.rank == value.rank == 3, "is defined on [batch, length, width]")
    require(query.shape[0] == key.shape[0] == value.shape[0] and query.shape[2] == key.shape[2], "keys do not fit")
    require(key.shape[1] == value.shape[1] > 0 and query.size > 0, "values do not fit")
    return TensorType((*query.shape[:2], value.shape[2]), dtype)


def _keys_and_values(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    length = int(rng.integers(1, 6))
    key, value = (first.shape[0], length, first.shape[2]), (first.shape[0], length, int(rng.integers(1, 6)))
    return Wanted(key, first.dtype, "values"), Wanted(value, first.dtype, "values")


def _recurrent(gates: int) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = floats(types, 5)
        x, taken, kept, bias, other = types
        require(x.rank == 3 and x.size > 0 and taken.rank == 2 and kept.rank == 2, "is defined on [time, batch, width]")
        hidden = kept.shape[1]
        require(hidden > 0 and taken.shape == (gates * hidden, x.shape[2]), "input weights do not fit")
        require(kept.shape == (gates * hidden, hidden), "hidden weights do not fit")
        require(bias.shape == other.shape == (gates * hidden,), "biases do not fit")
        return TensorType((x.shape[0], x.shape[1], hidden), dtype)

    return infer


def _recurrent_extras(gates: int) -> Extras:
    def extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
        hidden = int(rng.integers(1, 5))
        shapes = ((gates * hidden, first.shape[2]), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,))
        return tuple(weights(shape, first) for shape in shapes)

    return extras


def _recurrent_operator(name: str, gates: int, meaning: str) -> Operator:
    return Operator(
        name,
        f"{meaning} over x [time, batch, width] from a zero state; inputs x, w [{gates}h, width], "
        f"u [{gates}h, h], b, c [{gates}h]; the states of all times",
        _recurrent(gates),
        _sequence,
        extras=_recurrent_extras(gates),
        rounding=Rounding.SATURATING,
    )


SEQUENCES = (
    Operator(
        "attention",
        "softmax(q kᵀ / √width) v; causal: query i sees keys 0 … i",
        _attention,
        _sequence,
        {"causal": FLAG},
        _keys_and_values,
        rounding=Rounding.SATURATING,
        unspecified="torch.nn.functional.scaled_dot_product_attention is documented as adding the mask to the scores "
        "and multiplying all values, so that what is not finite reaches queries that do not see it",
    ),
    _recurrent_operator("rnn", 1, "h = tanh(w x + b + u h + c)"),
    _recurrent_operator("lstm", 4, "gates i, f, g, o in this order"),
    _recurrent_operator("gru", 3, "gates r, z, n in this order, n = tanh(w x + b + r (u h + c)), h = (1 - z) n + z h,"),
)

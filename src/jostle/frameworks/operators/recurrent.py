"""Recurrent layers from given states, backwards, and with what only some definitions have: clips, peepholes."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats, weights
from jostle.frameworks.operators.operator import (
    FLAG,
    Choice,
    Extras,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    require,
)
from jostle.frameworks.operators.subtracted import states


def _is_sequence(first: TensorType) -> bool:
    return first.is_float and first.rank == 3 and first.size > 0


def _layer(gates: int, biases: int, states: int, peepholes: int = 0) -> Infer:
    """The biases are of so many times the hidden size, and peepholes; states are [batch, hidden]."""

    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = floats(types, 4 + states + bool(peepholes))
        x, taken, kept, bias, *others = types
        require(_is_sequence(x) and kept.rank == 2, "is defined on [time, batch, width]")
        hidden = kept.shape[1]
        require(hidden > 0 and taken.shape == (gates * hidden, x.shape[2]), "input weights do not fit")
        require(kept.shape == (gates * hidden, hidden) and bias.shape == (biases * hidden,), "weights do not fit")
        wanted = (peepholes * hidden,) if peepholes else (x.shape[1], hidden)
        require(all(one.shape == wanted for one in others), "states or peepholes do not fit")
        require(attributes.get("clip", 0.0) >= 0, "what is clipped is clipped at a number above 0")
        return TensorType((x.shape[0], x.shape[1], hidden), dtype)

    return infer


def _parts(gates: int, biases: int, states: int, peepholes: int = 0) -> Extras:
    def extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
        hidden = int(rng.integers(1, 5))
        shapes = [(gates * hidden, first.shape[2]), (gates * hidden, hidden), (biases * hidden,)]
        shapes += [(peepholes * hidden,)] if peepholes else []
        given = [Wanted((first.shape[1], hidden), first.dtype, "values")] * states
        return (*(weights(shape, first) for shape in shapes), *given)

    return extras


def _recurrent(name: str, meaning: str, numbers: tuple[int, ...], **domains: OperandDomain) -> Operator:
    return Operator(
        name,
        meaning,
        _layer(*numbers),
        _is_sequence,
        domains,
        _parts(*numbers),
        rounding=Rounding.SATURATING,
        subtracts=states,
    )


RECURRENT = (
    _recurrent(
        "rnn_from",
        "h = tanh or relu of w x + u h + b over x [time, batch, width], also backwards; inputs x, w, u, b and the "
        "state [batch, h] to begin with; the states of all times",
        (1, 1, 1),
        activation=Choice(("tanh", "relu")),
        reverse=FLAG,
    ),
    _recurrent(
        "lstm_from",
        "as lstm, with one bias and both states to begin with, also backwards; clip: gates are cut to [-clip, clip] "
        "before their functions unless it is 0; undefined where the cell is larger",
        (4, 4, 2),
        clip=Real((0.0, 0.5, 2.0)),
        reverse=FLAG,
    ),
    _recurrent(
        "gru_from",
        "as gru, with both biases in one input and a state to begin with, also backwards; reset_after: r is multiplied "
        "by u h + c, else by h",
        (3, 6, 1),
        reset_after=FLAG,
        reverse=FLAG,
    ),
    _recurrent(
        "lstm_peephole",
        "as lstm, with one bias and p [3h] of i, o, f: i and f see the cell before them, o the one after, times p",
        (4, 4, 0, 3),
        reverse=FLAG,
    ),
)

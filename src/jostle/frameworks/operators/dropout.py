"""Dropout by the kernels of a library, whose masks nobody else draws: what is certain of it, and what chance allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, floats
from jostle.frameworks.operators.operator import (
    FLAG,
    Choice,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Whole,
    is_float,
    require,
)

RATES = (0.1, 0.25, 0.5, 0.9)
DRAWS = 2**16  # at least, for a share of zeros
FALSE_ALARM = 1e-12  # how likely a right kernel is called wrong
UNSPECIFIED = "No documentation of dropout says whether what is dropped is multiplied by 0, so whether 0 ∞ counts"
LAYER: Mapping[str, OperandDomain] = {"layer": FLAG}  # by the library's layer, not its function
BY_CHANCE = ("dropout_distance", "dropout_share")  # what drops out at random
RANDOM: Mapping[str, OperandDomain] = {"rate": Real(RATES), "seed": Whole(0, 999), **LAYER}


def _certain(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    rate = attributes.get("rate", 0)
    require(0 <= rate <= 1, "the rate is in [0, 1]")
    require(rate == 0 or not attributes.get("training"), "in training, a rate leaves what is dropped to chance")
    return types[0]


def _drawn_certain(first: TensorType, rng: Random) -> dict[str, Any]:
    training = FLAG.draw(first, rng)
    rate = 0.0 if training else Choice((0.0, *RATES, 1.0)).draw(first, rng)
    return {"rate": rate, "training": training, "layer": FLAG.draw(first, rng)}


def _require_random(attributes: Attributes) -> None:
    require(0 < attributes["rate"] < 1, "the rate is in (0, 1)")
    require(0 <= attributes["seed"] < 2**31, "the seed is in [0, 2³¹)")


def _distance(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    _require_random(attributes)
    return types[0]


def _share(types: Types, attributes: Attributes) -> TensorType:
    floats(types, 1)
    _require_random(attributes)
    require(types[0].size > 0, "nothing is drawn")
    return TensorType((), "bool")


def middle(attributes: Attributes) -> float:
    """Where between what is dropped and what survives, if x is 1."""
    return 0.5 / (1 - float(attributes["rate"]))


@dataclass(frozen=True)
class ShareOfZeros:
    """How many zeros dropout makes of ones."""

    shape: tuple[int, ...]  # of the ones: as many as are needed, by an axis before those of the input
    expected: float
    bound: float  # farther from what is expected, a share is by chance once in 1 / FALSE_ALARM times


def share_of_zeros(first: TensorType, attributes: Attributes) -> ShareOfZeros:
    """Of single elements; of pairs of neighbours, or of one place in two calls, that are both 0."""
    repeats, rate = 2 * math.ceil(DRAWS / 2 / first.size), attributes["rate"]
    alone, trials = attributes["of"] == "elements", repeats * first.size
    if attributes["of"] == "neighbours":
        trials //= 2
    # Hoeffding: a share of n independent trials is off by t with a probability of at most 2 exp(-2 n t²).
    bound = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * trials))
    return ShareOfZeros((repeats, *first.shape), rate if alone else rate**2, bound)


DROPOUT = (
    Operator(
        "dropout_identity",
        "the library's dropout where it changes nothing: unless training, or at a rate of 0",
        _certain,
        is_float,
        {"rate": Real((0.0, *RATES, 1.0)), "training": FLAG, **LAYER},
        together=_drawn_certain,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "dropout_all",
        "the library's dropout at a rate of 1 in training: 0",
        _certain,
        is_float,
        LAYER,
        rounding=Rounding.EXACT,
        unspecified=UNSPECIFIED,
    ),
    Operator(
        "dropout_downscaled",
        "a dropout that scales when it is evaluated, not in training, and is evaluated: x (1 - rate)",
        _certain,
        is_float,
        {"rate": Real((0.0, *RATES)), **LAYER},
    ),
    Operator(
        "dropout_distance",
        "(dropout(x) - m)² in training, where m = x / (2 (1 - rate)) lies between what is dropped and what survives: "
        "m², whatever the mask",
        _distance,
        is_float,
        RANDOM,
        unspecified=UNSPECIFIED,
    ),
    Operator(
        "dropout_share",
        "whether dropout in training makes as many zeros of ones as its rate says: of elements, and as independently "
        "of neighbours and of two calls; of x only shape and dtype count",
        _share,
        lambda x: x.is_float and x.size > 0,
        {**RANDOM, "of": Choice(("elements", "neighbours", "calls"))},
        differentiable=False,
        rounding=Rounding.EXACT,
    ),
)

"""How an operator that computes every element of its broadcast inputs alone is declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.elementwise import partner_shape
from jostle.frameworks.operators.operator import (
    Accepts,
    OperandDomain,
    Operator,
    Rounding,
    Types,
    Wanted,
    broadcast,
    count_of,
    is_float,
    require,
    same_dtype,
)
from jostle.frameworks.operators.subtracted import Sizes

Check = Callable[[Attributes, TensorType], None]  # Invalid if attributes do not go with the first input


def _unchecked(attributes: Attributes, first: TensorType) -> None:
    return None


def pointwise(
    name: str,
    meaning: str,
    accepts: Accepts = is_float,
    *,
    partners: Sequence[str] = (),
    to: str = "",
    flat: bool = False,
    jumps: bool = False,
    rounding: Rounding = Rounding.RELATIVE,
    subtracts: Sizes | None = None,
    unspecified: str = "",
    check: Check = _unchecked,
    **domains: OperandDomain,
) -> Operator:
    """`partners`: what fills each further input; `to`: the dtype of the result, if not that of the inputs.

    `flat`: jumps between values, so that its gradient is zero or none; `jumps`: has a gradient besides.
    """

    def infer(types: Types, attributes: Attributes) -> TensorType:
        count_of(types, 1 + len(partners))
        require(accepts(types[0]), f"is not defined on {types[0].dtype}")
        check(attributes, types[0])
        dtype = same_dtype(types)
        return TensorType(broadcast(*(one.shape for one in types)), to or dtype)

    def wanted(first: TensorType, attributes: Attributes, rng: np.random.Generator) -> Sequence[Wanted]:
        return tuple(Wanted(partner_shape(first.shape, rng), first.dtype, filled) for filled in partners)

    return Operator(
        name,
        meaning,
        infer,
        accepts,
        domains,
        wanted,
        differentiable=not flat,
        discontinuous=flat or jumps,
        rounding=rounding,
        subtracts=subtracts,
        unspecified=unspecified,
    )

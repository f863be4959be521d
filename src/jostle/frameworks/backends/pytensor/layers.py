"""How PyTensor computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import filled_in, number


def _attention(call: Call) -> str:
    (_, length, width), keys = call.types[0].shape, call.types[1].shape[1]
    root = number(width, call.type.dtype)
    scores = f"pt.matmul({call[0]}, pt.matrix_transpose({call[1]})) / pt.sqrt({root})"
    if call.attributes["causal"]:
        scores = f"pt.switch(np.tri({length}, {keys}, dtype=bool), {scores}, {number(float('-inf'), call.type.dtype)})"
    return f"pt.matmul(pt.special.softmax({scores}, axis=-1), {call[2]})"


LAYERS: Mapping[str, Expression] = {
    **numpy_like.layers("pt", filled_in),
    "attention": _attention,
}

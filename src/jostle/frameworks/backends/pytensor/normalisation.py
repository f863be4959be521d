"""How PyTensor normalises."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import affine, per_channel
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in, number


def standardised(array: str, axes: tuple[int, ...], call: Call) -> str:
    mean = f"pt.mean({array}, axis={axes}, keepdims=True)"
    deviation = f"pt.sqrt(pt.var({array}, axis={axes}, keepdims=True) + {_epsilon(call)})"
    return f"({array} - {mean}) / {deviation}"


def _epsilon(call: Call) -> str:
    return number(call.attributes["epsilon"], call.type.dtype)


def _batch_norm(call: Call) -> str:
    mean, variance = (per_channel(call[place], call.type.rank) for place in (3, 4))
    return affine(call, f"({call[0]} - {mean}) / pt.sqrt({variance} + {_epsilon(call)})")


def _group_norm(call: Call) -> str:
    (batch, channels, *sizes), groups = call.type.shape, call.attributes["groups"]
    split = (batch, groups, channels // groups, *sizes)
    normal = standardised(f"pt.reshape({call[0]}, {split})", tuple(range(2, len(split))), call)
    return affine(call, f"pt.reshape({normal}, {call.type.shape})")


NORMALISATION: Mapping[str, Expression] = {
    **numpy_like.normalisation(standardised),
    **all_filled_in(
        {
            "rms_norm": "{0} / pt.sqrt(pt.mean(pt.sqr({0}), axis=-1, keepdims=True) + {epsilon}) * {1}",
            "l2_normalize": "{0} / pt.maximum(pt.sqrt(pt.sum(pt.sqr({0}), axis={axis}, keepdims=True)), {epsilon})",
        }
    ),
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
}

"""How Paddle computes arithmetic beyond the four operations."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, named, on, template, templates


def _isclose(call: Call) -> str:
    if call.types[0].shape != call.types[1].shape:
        raise Unsupported("compares tensors of one shape")
    return fill("paddle.isclose({0}, {1}, rtol={relative}, atol={absolute}, equal_nan={equal_nan})", call)


ARITHMETIC: Mapping[str, Expression] = {
    **named("paddle.", "isfinite isposinf isneginf signbit frac deg2rad rad2deg copysign fmax fmin heaviside lcm"),
    **named("paddle.", "lerp ldexp"),
    **templates(
        {
            "add_scalar": "{0} + {scalar}",
            "mul_scalar": "{0} * {scalar}",
            "rsub_scalar": "{scalar} - {0}",
            "div_scalar": "{0} / {scalar}",
            "rdiv_scalar": "{scalar} / {0}",
            "pow_scalar": "paddle.pow({0}, {scalar})",
            "rpow_scalar": "{scalar} ** {0}",
            "remainder_scalar": "{0} % {scalar}",
            "floor_divide_scalar": "{0} // {scalar}",
            "nan_to_num": "paddle.nan_to_num({0}, nan={nan}, posinf={positive}, neginf={negative})",
            "round_decimals": "paddle.round({0}, decimals={decimals})",
            "squared_difference": "paddle.square({0} - {1})",
            "div_floor": "paddle.floor_divide({0}, {1})",
            "addcmul": "{0} + {value} * {1} * {2}",
            "addcdiv": "{0} + {value} * {1} / {2}",
            "clip_between": "paddle.minimum(paddle.maximum({0}, {1}), {2})",
        }
    ),
    "isclose": _isclose,
    "gcd": on("int32 int64", template("paddle.gcd({0}, {1})")),
}

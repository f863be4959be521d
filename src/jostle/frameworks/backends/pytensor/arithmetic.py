"""How PyTensor computes arithmetic beyond the four operations."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in
from jostle.frameworks.backends.templates import named

ARITHMETIC: Mapping[str, Expression] = {
    **named("pt.", "isfinite isposinf isneginf deg2rad rad2deg"),
    **all_filled_in(
        {
            "add_scalar": "{0} + {scalar}",
            "mul_scalar": "{0} * {scalar}",
            "rsub_scalar": "{scalar} - {0}",
            "div_scalar": "{0} / {scalar}",
            "rdiv_scalar": "{scalar} / {0}",
            "pow_scalar": "pt.pow({0}, {scalar})",
            "rpow_scalar": "pt.pow({scalar}, {0})",
            "remainder_scalar": "pt.mod({0}, {scalar})",
            "floor_divide_scalar": "pt.int_div({0}, {scalar})",
            "nan_to_num": "pt.nan_to_num({0}, nan={nan}, posinf={positive}, neginf={negative})",
            "frac": "{0} - pt.trunc({0})",
            "squared_difference": "pt.sqr({0} - {1})",
            "div_trunc": "pt.trunc({0} / {1})",
            "isclose": "pt.isclose({0}, {1}, rtol={relative}, atol={absolute}, equal_nan={equal_nan})",
            "lerp": "{0} + {2} * ({1} - {0})",
            "clip_between": "pt.minimum(pt.maximum({0}, {1}), {2})",  # pt.clip says nothing of low above high
            "addcmul": "{0} + {value} * {1} * {2}",
            "addcdiv": "{0} + {value} * {1} / {2}",
        }
    ),
}

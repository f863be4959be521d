"""How torch computes arithmetic beyond the four operations."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named, templates

ARITHMETIC: Mapping[str, Expression] = {
    **named("torch.", "isfinite isposinf isneginf signbit frac deg2rad rad2deg"),
    **named("torch.", "copysign fmax fmin heaviside gcd lcm lerp clip_between=clamp ldexp"),
    **templates(
        {
            "add_scalar": "torch.add({0}, {scalar})",
            "mul_scalar": "torch.mul({0}, {scalar})",
            "rsub_scalar": "torch.rsub({0}, {scalar})",
            "div_scalar": "torch.div({0}, {scalar})",
            "rdiv_scalar": "{scalar} / {0}",
            "pow_scalar": "torch.pow({0}, {scalar})",
            "rpow_scalar": "torch.pow({scalar}, {0})",
            "remainder_scalar": "torch.remainder({0}, {scalar})",
            "floor_divide_scalar": "torch.floor_divide({0}, {scalar})",
            "nan_to_num": "torch.nan_to_num({0}, {nan}, {positive}, {negative})",
            "round_decimals": "torch.round({0}, decimals={decimals})",
            "squared_difference": "torch.square({0} - {1})",
            "div_floor": 'torch.div({0}, {1}, rounding_mode="floor")',
            "div_trunc": 'torch.div({0}, {1}, rounding_mode="trunc")',
            "isclose": "torch.isclose({0}, {1}, rtol={relative}, atol={absolute}, equal_nan={equal_nan})",
            "addcmul": "torch.addcmul({0}, {1}, {2}, value={value})",
            "addcdiv": "torch.addcdiv({0}, {1}, {2}, value={value})",
        }
    ),
}

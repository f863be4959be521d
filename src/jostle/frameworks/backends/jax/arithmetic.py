"""How JAX computes arithmetic beyond the four operations."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named, templates

ARITHMETIC: Mapping[str, Expression] = {
    **named("jnp.", "isfinite isposinf isneginf signbit deg2rad rad2deg copysign fmax fmin heaviside gcd lcm"),
    **named("jnp.", "div_floor=floor_divide clip_between=clip ldexp"),
    **templates(
        {
            "add_scalar": "{0} + {scalar}",
            "mul_scalar": "{0} * {scalar}",
            "rsub_scalar": "{scalar} - {0}",
            "div_scalar": "{0} / {scalar}",
            "rdiv_scalar": "{scalar} / {0}",
            "pow_scalar": "jnp.power({0}, {scalar})",
            "rpow_scalar": "jnp.power({scalar}, {0})",
            "remainder_scalar": "jnp.remainder({0}, {scalar})",
            "floor_divide_scalar": "jnp.floor_divide({0}, {scalar})",
            "nan_to_num": "jnp.nan_to_num({0}, nan={nan}, posinf={positive}, neginf={negative})",
            "frac": "{0} - jnp.trunc({0})",
            "round_decimals": "jnp.round({0}, {decimals})",
            "squared_difference": "jnp.square({0} - {1})",
            "div_trunc": "jnp.trunc({0} / {1})",
            "isclose": "jnp.isclose({0}, {1}, rtol={relative}, atol={absolute}, equal_nan={equal_nan})",
            "lerp": "{0} + {2} * ({1} - {0})",
            "addcmul": "{0} + {value} * {1} * {2}",
            "addcdiv": "{0} + {value} * {1} / {2}",
        }
    ),
}

"""How TensorFlow computes arithmetic beyond the four operations."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named, on, template, templates

ARITHMETIC: Mapping[str, Expression] = {
    **named("tf.math.", "isfinite=is_finite squared_difference div_floor=floordiv"),
    **named("tf.experimental.numpy.", "isposinf isneginf signbit deg2rad rad2deg heaviside lcm"),
    "gcd": on("int8 int32 int64", template("tf.experimental.numpy.gcd({0}, {1})")),
    **templates(
        {
            "add_scalar": "{0} + {scalar}",
            "mul_scalar": "{0} * {scalar}",
            "rsub_scalar": "{scalar} - {0}",
            "div_scalar": "{0} / {scalar}",
            "rdiv_scalar": "{scalar} / {0}",
            "pow_scalar": "tf.pow({0}, {scalar})",
            "rpow_scalar": "{scalar} ** {0}",
            "remainder_scalar": "tf.math.floormod({0}, {scalar})",
            "floor_divide_scalar": "tf.math.floordiv({0}, {scalar})",
            "nan_to_num": "tf.keras.ops.nan_to_num({0}, nan={nan}, posinf={positive}, neginf={negative})",
            "frac": "{0} - tf.keras.ops.trunc({0})",
            "round_decimals": "tf.keras.ops.round({0}, {decimals})",
            "isclose": "tf.experimental.numpy.isclose({0}, {1}, {relative}, {absolute}, {equal_nan})",
            "clip_between": "tf.minimum(tf.maximum({0}, {1}), {2})",  # clip_by_value documents low below high
            "lerp": "{0} + {2} * ({1} - {0})",
            "addcmul": "{0} + {value} * {1} * {2}",
            "addcdiv": "{0} + {value} * {1} / {2}",
        }
    ),
}

"""Formulas of arithmetic beyond the four operations."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.graph import INTEGERS
from jostle.frameworks.reference.elementwise import floor_divide, remainder
from jostle.frameworks.reference.numbers import Formula, least, most, plain
from jostle.frameworks.reference.undefined import undefined_where, undefined_with_nan


def _whole_power(x: Tensor, power: int) -> Tensor:
    """By multiplying, which wraps around as whole numbers do."""
    product = torch.ones_like(x)
    for _ in range(power):
        product = product * x
    return product


def pow_scalar(call: Call, x: Tensor) -> Tensor:
    scalar = call.attributes["scalar"]
    # With a number instead of a tensor, torch takes roots, which are others than IEEE 754's powers of -0 and -inf.
    return torch.pow(x, torch.full_like(x, scalar)) if call.type.is_float else _whole_power(x, scalar)


def _with_scalar(formula: Formula) -> Formula:
    """The formula of two tensors, the second of which holds the number."""
    return lambda call, x: formula(call, x, torch.full_like(x, call.attributes["scalar"]))


def signbit(x: Tensor) -> Tensor:
    undefined_with_nan(x, "the sign")
    return torch.signbit(x)


def copysign(a: Tensor, b: Tensor) -> Tensor:
    undefined_with_nan(b, "the sign")
    a, b = torch.broadcast_tensors(a, b)
    return torch.where(torch.signbit(a) == torch.signbit(b), a, -a)


def nan_to_num(call: Call, x: Tensor) -> Tensor:
    x = torch.where(x.isnan(), call.attributes["nan"], x)
    x = torch.where(x == torch.inf, call.attributes["positive"], x)
    return torch.where(x == -torch.inf, call.attributes["negative"], x)


def round_decimals(call: Call, x: Tensor) -> Tensor:
    scale = 10.0 ** call.attributes["decimals"]
    return torch.where(x.isfinite(), torch.round(x * scale) / scale, x)


def heaviside(x: Tensor, at_0: Tensor) -> Tensor:
    undefined_with_nan(x, "heaviside")
    x, at_0 = torch.broadcast_tensors(x, at_0)
    return torch.where(x == 0, at_0, (x > 0).to(x.dtype)).detach()


def _quotient(a: Tensor, b: Tensor) -> Tensor:
    undefined_where((b == 0) | b.isinf(), "a whole part of a division by 0 or infinity")
    undefined_where(a.isinf(), "a whole part of infinity")
    return (a / b).detach()


def _check_divisors(call: Call, a: Tensor, b: Tensor) -> None:
    lowest = least(call.type.dtype)
    if lowest < 0:
        undefined_where((a == lowest) | (b == lowest), "a divisor of the least whole number")


def gcd(call: Call, a: Tensor, b: Tensor) -> Tensor:
    _check_divisors(call, a, b)
    return torch.gcd(a, b)


def lcm(call: Call, a: Tensor, b: Tensor) -> Tensor:
    _check_divisors(call, a, b)
    common = torch.gcd(a, b).clamp(min=1)
    sizes = (a.abs() // common).to(torch.float64) * b.abs().to(torch.float64)
    undefined_where(sizes >= float(most(call.type.dtype)), "a common multiple that does not fit")
    return (a // common * b).abs()


def isclose(call: Call, a: Tensor, b: Tensor) -> Tensor:
    if call.types[0].dtype in INTEGERS:
        a, b = a.to(torch.float64), b.to(torch.float64)
    # Most libraries document |a - b| ≤ absolute + relative |b| and nothing else: by that, all is close to infinity.
    undefined_where(b.isinf() & (a != b), "whether something is close to infinity")
    near: Tensor = (a - b).abs() <= call.attributes["absolute"] + call.attributes["relative"] * b.abs()
    equal = (a == b) | (a.isfinite() & b.isfinite() & near)
    return equal | (a.isnan() & b.isnan()) if call.attributes["equal_nan"] else equal


ARITHMETIC: Mapping[str, Formula] = {
    "add_scalar": lambda call, x: x + call.attributes["scalar"],
    "mul_scalar": lambda call, x: x * call.attributes["scalar"],
    "rsub_scalar": lambda call, x: call.attributes["scalar"] - x,
    "div_scalar": lambda call, x: x / call.attributes["scalar"],
    "rdiv_scalar": lambda call, x: call.attributes["scalar"] / x,
    "pow_scalar": pow_scalar,
    "rpow_scalar": lambda call, x: torch.exp(x * math.log(call.attributes["scalar"])),
    "remainder_scalar": _with_scalar(remainder),
    "floor_divide_scalar": _with_scalar(floor_divide),
    "isfinite": plain(torch.isfinite),
    "isposinf": plain(lambda x: x == torch.inf),
    "isneginf": plain(lambda x: x == -torch.inf),
    "signbit": plain(signbit),
    "nan_to_num": nan_to_num,
    "frac": plain(lambda x: x - torch.trunc(x)),
    "round_decimals": round_decimals,
    "deg2rad": plain(lambda x: x * (math.pi / 180)),
    "rad2deg": plain(lambda x: x * (180 / math.pi)),
    "copysign": plain(copysign),
    "fmax": plain(torch.fmax),
    "fmin": plain(torch.fmin),
    "heaviside": plain(heaviside),
    "squared_difference": plain(lambda a, b: torch.square(a - b)),
    "div_floor": plain(lambda a, b: torch.floor(_quotient(a, b))),
    "div_trunc": plain(lambda a, b: torch.trunc(_quotient(a, b))),
    "gcd": gcd,
    "lcm": lcm,
    "isclose": isclose,
    "lerp": plain(lambda a, b, c: a + c * (b - a)),
    "addcmul": lambda call, a, b, c: a + call.attributes["value"] * b * c,
    "addcdiv": lambda call, a, b, c: a + call.attributes["value"] * b / c,
    "clip_between": plain(lambda a, b, c: torch.minimum(torch.maximum(a, b), c)),
    "ldexp": plain(lambda a, b: a * torch.pow(2.0, b.to(torch.float64))),
}

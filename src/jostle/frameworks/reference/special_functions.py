"""Formulas of the functions that are named after what they are used for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula, plain
from jostle.frameworks.reference.reductions import logaddexp
from jostle.frameworks.reference.undefined import undefined_where


def lgamma(call: Call, x: Tensor) -> Tensor:
    undefined_where(x == -torch.inf, "lgamma of -∞")
    return torch.lgamma(x)


# What digamma(x) is less than log(x) - 1 / (2 x) far above 0, by powers of 1 / x².
FAR_ABOVE_0 = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
SHIFTS = 10


def digamma(call: Call, x: Tensor) -> Tensor:
    """Written out, as torch's own has a gradient of ten digits only below 0."""
    undefined_where((x <= 0) & (x == torch.floor(x)), "digamma at a pole")
    below = x < 0.5
    apart = torch.where(below, x - torch.round(x.detach()), 0.25)
    found = _digamma_above(torch.where(below, 1 - x, x))
    return torch.where(below, found - math.pi / torch.tan(math.pi * apart), found)


def _digamma_above(x: Tensor) -> Tensor:
    near = torch.stack([1 / (x + shift) for shift in range(SHIFTS)]).sum(0)
    x = x + SHIFTS
    far = torch.stack([factor / x ** (2 * place) for place, factor in enumerate(FAR_ABOVE_0, 1)]).sum(0)
    return torch.log(x) - 1 / (2 * x) - far - near


def logit(x: Tensor) -> Tensor:
    return torch.log(x) - torch.log1p(-x)


def _times_log(log: Callable[[Tensor], Tensor]) -> Formula:
    def formula(call: Call, a: Tensor, b: Tensor) -> Tensor:
        a, b = torch.broadcast_tensors(a, b)
        # The gradient by a is the logarithm also where a is 0, and b counts nothing there unless it is NaN.
        harmless = torch.where((a == 0) & ~log(b).isfinite() & ~b.isnan(), 1.0, b)
        return a * log(harmless)

    return formula


def logaddexp2(a: Tensor, b: Tensor) -> Tensor:
    return logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


IN_TORCH = ("erfc", "i0", "i0e", "i1", "i1e", "ndtr", "ndtri", "log_ndtr", "sinc", "entr")
SPECIAL_FUNCTIONS: Mapping[str, Formula] = {
    **{name: plain(getattr(torch.special, name)) for name in IN_TORCH},
    "erfinv": plain(torch.erfinv),
    "exp2": plain(torch.exp2),
    "log10": plain(torch.log10),
    "lgamma": lgamma,
    "digamma": digamma,
    "logit": plain(logit),
    "xlogy": _times_log(torch.log),
    "xlog1py": _times_log(torch.log1p),
    "logaddexp": plain(logaddexp),
    "logaddexp2": plain(logaddexp2),
    "hypot": plain(torch.hypot),
}

"""Results without a meaning."""

from __future__ import annotations

from torch import Tensor


class Undefined(Exception):
    """Nobody says what the result is, such as of a division of whole numbers by 0; says why."""


def undefined_where(mask: Tensor, reason: str) -> None:
    """Undefined if the mask holds anywhere."""
    if bool(mask.any()):
        raise Undefined(reason)


def undefined_with_nan(values: Tensor, operator: str) -> None:
    if values.is_floating_point():
        undefined_where(values.isnan(), f"{operator} of NaN")

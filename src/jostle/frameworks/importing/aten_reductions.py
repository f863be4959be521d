"""The operators of torch's own graphs that combine elements along axes, or put them in order, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, axes_of, dtype_of
from jostle.frameworks.importing.building import GraphBuilder


def _reduction(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        x = builder.as_dtype(given["self"], dtype_of(value))
        return builder.node(
            operator, x, axes=axes_of(given, builder.types[x].rank), keepdims=given.get("keepdim", False)
        )

    return translate


def _variance(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        correction = given.get("correction", int(given.get("unbiased", True)))
        axes = axes_of(given, builder.types[given["self"]].rank)
        keepdims = given.get("keepdim", False)
        return builder.node(
            operator, given["self"], axes=axes, keepdims=keepdims, correction=1 if correction is None else correction
        )

    return translate


def _position(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        if given["dim"] is None:
            raise Untranslated(f"{operator} without an axis")
        axis = given["dim"] % builder.types[given["self"]].rank
        return builder.node(operator, given["self"], axis=axis, keepdims=given["keepdim"])

    return translate


def along(operator: str, **attributes: Any) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        x = builder.as_dtype(given["self"], dtype_of(value))
        return builder.node(operator, x, axis=given["dim"] % builder.types[x].rank, **attributes)

    return translate


REDUCED = {"mean": "mean", "sum": "sum", "amax": "max", "amin": "min", "logsumexp": "logsumexp"}
REDUCTIONS: Mapping[str, Translation] = {
    **{name: _reduction(operator) for name, operator in REDUCED.items()},
    "var": _variance("var"),
    "std": _variance("std"),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "softmax": along("softmax"),
    "_softmax": along("softmax"),
    "log_softmax": along("log_softmax"),
    "_log_softmax": along("log_softmax"),
    "cumsum": along("cumsum", exclusive=False, reverse=False),
    "cumprod": along("cumprod"),
}

"""How JAX describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.numpy_like import over_axes
from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import fill, templates

OVER_AXIS = "axis={axis}, keepdims={keepdims}"


def _kth(place: str) -> Expression:
    """The element of an ordered axis at this place."""

    def expression(call: Call) -> str:
        axis, size = call.attributes["axis"], call.types[0].shape[call.attributes["axis"]]
        at = (size - 1) // 2 if place == "middle" else call.attributes["k"] - 1
        found = fill(f"jnp.take(jnp.sort({{0}}, axis={{axis}}), {at}, axis={{axis}})", call)
        return f"jnp.expand_dims({found}, {axis})" if call.attributes["keepdims"] else found

    return expression


def _lp_norm(call: Call) -> str:
    return over_axes(f"jnp.linalg.vector_norm({{0}}, ord={literal(call.attributes['p'])}, {{over}})")(call)


def _bucketize(call: Call) -> str:
    side = "right" if call.attributes["right"] else "left"
    return fill(f'jnp.searchsorted(jnp.array({{boundaries}}), {{0}}, side="{side}").astype("int64")', call)


STATISTICS: Mapping[str, Expression] = {
    **templates(
        {
            "median": f"jnp.median({{0}}, {OVER_AXIS})",
            "nanmedian": f"jnp.nanmedian({{0}}, {OVER_AXIS})",
            "quantile": f"jnp.quantile({{0}}, {{q}}, {OVER_AXIS})",
            "cummin": "lax.cummin({0}, axis={axis})",
            "argsort": 'jnp.argsort({0}, axis={axis}, descending={descending}, stable=True).astype("int64")',
            "diff": "jnp.diff({0}, n={n}, axis={axis})",
            "trapezoid": "jnp.trapezoid({0}, dx={dx}, axis={axis})",
            "covariance": "jnp.cov({0}, ddof={correction})",
            "correlation": "jnp.corrcoef({0})",
            "bin_counts": 'jnp.histogram({0}, bins={bins}, range=({low}, {high}))[0].astype("int64")',
        }
    ),
    "nansum": over_axes("jnp.nansum({0}, {over})"),
    "nanmean": over_axes("jnp.nanmean({0}, {over})"),
    "sum_square": over_axes("jnp.sum(jnp.square({0}), {over}, dtype={dtype})"),
    "log_sum": over_axes("jnp.log(jnp.sum({0}, {over}))"),
    "lp_norm": _lp_norm,
    "reduce_no_axes": lambda call: f"jnp.{call.attributes['kind']}({call[0]}, axis=())",
    "lower_median": _kth("middle"),
    "kth_value": _kth("k"),
    "bucketize": _bucketize,
}

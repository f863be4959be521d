"""How TensorFlow describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, templates

OVER_AXES = "axis={axes}, keepdims={keepdims}"
OVER_AXIS = "axis={axis}, keepdims={keepdims}"


def _lp_norm(call: Call) -> str:
    """tf.norm documents no ord of 0 and none below, and that several axes are a matrix."""
    axes, p = call.attributes["axes"], call.attributes["p"]
    if p <= 0 or len(axes) > 1:
        raise Unsupported("has norms of p above 0 along one axis")
    order = "np.inf" if p == float("inf") else p
    return fill(f"tf.norm({{0}}, ord={order}, axis={axes[0]}, keepdims={{keepdims}})", call)


def _argsort(call: Call) -> str:
    direction = "DESCENDING" if call.attributes["descending"] else "ASCENDING"
    found = fill(f'tf.argsort({{0}}, axis={{axis}}, direction="{direction}", stable=True)', call)
    return f"tf.cast({found}, tf.int64)"


def _bucketize(call: Call) -> str:
    side = "right" if call.attributes["right"] else "left"
    dtype = "float64" if call.types[0].dtype == "float64" else "float32"
    row = f"tf.reshape(tf.cast({call[0]}, tf.{dtype}), [-1])"
    boundaries = fill(f"tf.constant({{boundaries}}, tf.{dtype})", call)
    found = f'tf.searchsorted({boundaries}, {row}, side="{side}", out_type=tf.int64)'
    return f"tf.reshape({found}, {list(call.type.shape)})"


STATISTICS: Mapping[str, Expression] = {
    **templates(
        {
            "nansum": f"tf.experimental.numpy.nansum({{0}}, {OVER_AXES})",
            "nanmean": f"tf.experimental.numpy.nanmean({{0}}, {OVER_AXES})",
            "sum_square": f"tf.reduce_sum(tf.square({{0}}), {OVER_AXES})",
            "log_sum": f"tf.math.log(tf.reduce_sum({{0}}, {OVER_AXES}))",
            "median": f"tf.keras.ops.median({{0}}, {OVER_AXIS})",
            "quantile": f"tf.keras.ops.quantile({{0}}, {{q}}, {OVER_AXIS})",
            "cummin": "tf.keras.ops.associative_scan(tf.minimum, {0}, axis={axis})",
            "diff": "tf.experimental.numpy.diff({0}, n={n}, axis={axis})",
            "trapezoid": "tf.keras.ops.trapezoid({0}, dx={dx}, axis={axis})",
        }
    ),
    "lp_norm": _lp_norm,
    "reduce_no_axes": lambda call: f"tf.reduce_{call.attributes['kind']}({call[0]}, axis=[])",
    "argsort": _argsort,
    "bucketize": _bucketize,
}

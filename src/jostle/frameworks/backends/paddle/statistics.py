"""How Paddle describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import templates

OVER_AXES = "axis={axes}, keepdim={keepdims}"
OVER_AXIS = "axis={axis}, keepdim={keepdims}"

STATISTICS: Mapping[str, Expression] = templates(
    {
        "nansum": f"paddle.nansum({{0}}, {OVER_AXES})",
        "nanmean": f"paddle.nanmean({{0}}, {OVER_AXES})",
        "sum_square": f'paddle.sum(paddle.square({{0}}), dtype="{{dtype}}", {OVER_AXES})',
        "log_sum": f"paddle.log(paddle.sum({{0}}, {OVER_AXES}))",
        "lp_norm": f"paddle.linalg.vector_norm({{0}}, p={{p}}, {OVER_AXES})",
        "median": f"paddle.median({{0}}, {OVER_AXIS})",
        "nanmedian": f"paddle.nanmedian({{0}}, {OVER_AXIS})",
        "lower_median": f'paddle.median({{0}}, {OVER_AXIS}, mode="min")[0]',
        "quantile": f"paddle.quantile({{0}}, {{q}}, {OVER_AXIS})",
        "kth_value": f"paddle.kthvalue({{0}}, {{k}}, {OVER_AXIS})[0]",
        "cummin": "paddle.cummin({0}, axis={axis})[0]",
        "argsort": "paddle.argsort({0}, axis={axis}, descending={descending}, stable=True)",
        "diff": "paddle.diff({0}, n={n}, axis={axis})",
        "trapezoid": "paddle.trapezoid({0}, dx={dx}, axis={axis})",
        "covariance": "paddle.linalg.cov({0}, ddof={correction} == 1)",
        "correlation": "paddle.linalg.corrcoef({0})",
        "bin_counts": "paddle.histogram({0}, bins={bins}, min={low}, max={high})",
        "bucketize": "paddle.bucketize({0}, paddle.to_tensor({boundaries}), right={right})",
    }
)

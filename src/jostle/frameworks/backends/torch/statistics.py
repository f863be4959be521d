"""How torch describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import fill, templates
from jostle.frameworks.backends.torch.reductions import OVER_AXES

OVER_AXIS = "dim={axis}, keepdim={keepdims}"


def _sum_square(dtype: str) -> str:
    more = ", dtype=torch.int32" if dtype == "int32" else ""  # else torch sums narrow whole numbers as int64
    return f"torch.sum(torch.square({{0}}), {OVER_AXES}{more})"


STATISTICS: Mapping[str, Expression] = {
    **templates(
        {
            "nansum": f"torch.nansum({{0}}, {OVER_AXES})",
            "nanmean": f"torch.nanmean({{0}}, {OVER_AXES})",
            "log_sum": f"torch.log(torch.sum({{0}}, {OVER_AXES}))",
            "lp_norm": f"torch.linalg.vector_norm({{0}}, {{p}}, {OVER_AXES})",
            "median": f"torch.quantile({{0}}, 0.5, {OVER_AXIS})",
            "nanmedian": f"torch.nanquantile({{0}}, 0.5, {OVER_AXIS})",
            "lower_median": f"torch.median({{0}}, {OVER_AXIS}).values",
            "quantile": f"torch.quantile({{0}}, {{q}}, {OVER_AXIS})",
            "kth_value": f"torch.kthvalue({{0}}, {{k}}, {OVER_AXIS}).values",
            "cummin": "torch.cummin({0}, dim={axis}).values",
            "argsort": "torch.argsort({0}, dim={axis}, descending={descending}, stable=True)",
            "diff": "torch.diff({0}, n={n}, dim={axis})",
            "trapezoid": "torch.trapezoid({0}, dx={dx}, dim={axis})",
            "covariance": "torch.cov({0}, correction={correction})",
            "correlation": "torch.corrcoef({0})",
            "bin_counts": "torch.histc({0}, {bins}, {low}, {high}).to(torch.int64)",
            "bucketize": "torch.bucketize({0}, torch.tensor({boundaries}), right={right})",
        }
    ),
    "sum_square": lambda call: fill(_sum_square(call.type.dtype), call),
}

"""How torch pools."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill
from jostle.frameworks.backends.torch.convolutions import spatial


def _lp_pool(call: Call) -> str:
    """torch documents powers of x itself, which differ from those of |x| where p is odd."""
    x = "{0}" if call.attributes["p"] == 2 else "torch.abs({0})"
    if call.types[0].rank == 3:
        kernel, stride = call.attributes["kernel"][0], call.attributes["strides"][0]
        return fill(f"F.lp_pool1d({x}, {{p}}, {kernel}, {stride})", call)
    return spatial(f"F.lp_pool{{n}}d({x}, {{p}}, {{kernel}}, {{strides}})")(call)


POOLING: Mapping[str, Expression] = {
    "max_pool": spatial(
        "F.max_pool{n}d({0}, {kernel}, {strides}, padding={padding}, dilation={dilations}, ceil_mode={ceil})"
    ),
    "avg_pool": spatial(
        "F.avg_pool{n}d({0}, {kernel}, {strides}, padding={padding}, ceil_mode={ceil}, count_include_pad={include_pad})"
    ),
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": spatial("F.adaptive_avg_pool{n}d({0}, {size})"),
    "adaptive_max_pool": spatial("F.adaptive_max_pool{n}d({0}, {size})"),
}

"""How torch computes layers with weights, and what looks at neighbourhoods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal
from jostle.frameworks.backends.templates import fill, templates
from jostle.frameworks.graph import TensorType


def _spatial(text: str) -> Expression:
    """{n} is the number of axes after batch and channels."""

    def expression(call: Call) -> str:
        return fill(text.replace("{n}", str(call.types[0].rank - 2)), call)

    return expression


def _conv(call: Call) -> str:
    """torch pads both ends of an axis alike; other padding is a step of its own."""
    before, after = call.attributes["before"], call.attributes["after"]
    x, padding = "{0}", "{before}"
    if before != after:
        sizes = [size for pair in zip(reversed(before), reversed(after), strict=True) for size in pair]
        x, padding = f"F.pad({{0}}, {sizes})", "0"
    settings = f"stride={{strides}}, padding={padding}, dilation={{dilations}}, groups={{groups}}"
    return _spatial(f"F.conv{{n}}d({x}, {{1}}, {{2}}, {settings})")(call)


def _lp_pool(call: Call) -> str:
    """torch documents powers of x itself, which differ from those of |x| where p is odd."""
    x = "{0}" if call.attributes["p"] == 2 else "torch.abs({0})"
    if call.types[0].rank == 3:
        kernel, stride = call.attributes["kernel"][0], call.attributes["strides"][0]
        return fill(f"F.lp_pool1d({x}, {{p}}, {kernel}, {stride})", call)
    return _spatial(f"F.lp_pool{{n}}d({x}, {{p}}, {{kernel}}, {{strides}})")(call)


def _normalised(text: str, together: Sequence[int], call: Call) -> str:
    """torch documents that it refuses to normalise one value alone while training."""
    if prod(together) == 1:
        raise Unsupported("refuses to normalise a single value")
    return fill(text, call)


def _without(type_: TensorType, *axes: int) -> list[int]:
    return [size for axis, size in enumerate(type_.shape) if axis not in axes]


def batch_norm_by_hand(call: Call) -> str:
    """For statistics that a gradient is taken of: torch follows none to those of F.batch_norm."""
    shape = literal((-1, *[1] * (call.type.rank - 2)))
    scale, bias, mean, var = (f"{call[place]}.reshape({shape})" for place in (1, 2, 3, 4))
    return fill(f"({{0}} - {mean}) / torch.sqrt({var} + {{epsilon}}) * {scale} + {bias}", call)


def _batch_norm_training(call: Call) -> str:
    text = "F.batch_norm({0}, None, None, {1}, {2}, training=True, eps={epsilon})"
    return _normalised(text, _without(call.type, 1), call)


def _instance_norm(call: Call) -> str:
    text = "F.instance_norm({0}, weight={1}, bias={2}, eps={epsilon})"
    return _normalised(text, _without(call.type, 0, 1), call)


def _group_norm(call: Call) -> str:
    batch, channels, *image = call.type.shape
    together = (batch * channels // call.attributes["groups"], *image)
    return _normalised("F.group_norm({0}, {groups}, {1}, {2}, eps={epsilon})", together, call)


def _layer_norm(call: Call) -> str:
    shape = call.type.shape[call.attributes["axis"] :]
    return fill(f"F.layer_norm({{0}}, {literal(shape)}, {{1}}, {{2}}, eps={{epsilon}})", call)


def _rms_norm(call: Call) -> str:
    return fill(f"F.rms_norm({{0}}, {literal(call.type.shape[-1:])}, {{1}}, eps={{epsilon}})", call)


LINEAR_MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}


def _resize(call: Call) -> str:
    mode, *corners = call.attributes["mode"].split("_align_")
    if mode.startswith("nearest"):
        return fill(f'F.interpolate({{0}}, size={{size}}, mode="{mode.replace("_", "-")}")', call)
    named = "bicubic" if mode == "cubic" else LINEAR_MODES[call.type.rank]
    return fill(f'F.interpolate({{0}}, size={{size}}, mode="{named}", align_corners={bool(corners)})', call)


def _recurrent(function: str, states: int) -> Expression:
    """One layer, from states of zeros."""

    def expression(call: Call) -> str:
        _, batch, hidden = call.type.shape
        zeros = f"{call[0]}.new_zeros(1, {batch}, {hidden})"
        state = zeros if states == 1 else f"[{', '.join([zeros] * states)}]"
        settings = "has_biases=True, num_layers=1, dropout=0.0, train=True, bidirectional=False, batch_first=False"
        return f"torch.{function}({call[0]}, {state}, [{', '.join(call.node.inputs[1:])}], {settings})[0]"

    return expression


LAYERS: Mapping[str, Expression] = {
    **templates(
        {
            "matmul": "torch.matmul({0}, {1})",
            "linear": "F.linear({0}, {1}, {2})",
            "batch_norm": "F.batch_norm({0}, {3}, {4}, {1}, {2}, training=False, eps={epsilon})",
            "l2_normalize": "F.normalize({0}, dim={axis}, eps={epsilon})",
            "local_response_norm": "F.local_response_norm({0}, {size}, {alpha}, {beta}, {k})",
            "prelu": "F.prelu({0}, {1})",
            "glu": "F.glu({0}, dim={axis})",
            "dropout": "{0} * {1} / (1 - {rate})",  # F.dropout draws its own mask
            "grid_sample": "F.grid_sample({0}, {1}, {mode}, {padding}, align_corners={align_corners})",
            "attention": "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal={causal})",
        }
    ),
    "conv": _conv,
    "conv_transpose": _spatial(
        "F.conv_transpose{n}d({0}, {1}, {2}, stride={strides}, padding={padding}, "
        "output_padding={output_padding}, groups={groups}, dilation={dilations})"
    ),
    "max_pool": _spatial(
        "F.max_pool{n}d({0}, {kernel}, {strides}, padding={padding}, dilation={dilations}, ceil_mode={ceil})"
    ),
    "avg_pool": _spatial(
        "F.avg_pool{n}d({0}, {kernel}, {strides}, padding={padding}, ceil_mode={ceil}, count_include_pad={include_pad})"
    ),
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _spatial("F.adaptive_avg_pool{n}d({0}, {size})"),
    "adaptive_max_pool": _spatial("F.adaptive_max_pool{n}d({0}, {size})"),
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "resize": _resize,
    "rnn": _recurrent("rnn_tanh", 1),
    "lstm": _recurrent("lstm", 2),
    "gru": _recurrent("gru", 1),
}

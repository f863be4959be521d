"""How Paddle computes layers with weights, and those that look at neighbourhoods."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.shaping import FORMATS
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import named, template

LINEAR_MODES = {3: "linear", 4: "bilinear", 5: "trilinear"}


def _axes(call: Call) -> int:
    return call.type.rank - 2


def _conv(call: Call) -> str:
    pads = zip(call.attributes["before"], call.attributes["after"], strict=True)
    padding = [size for pair in pads for size in pair]
    settings = f"stride={call.literal('strides')}, padding={padding}, dilation={call.literal('dilations')}"
    inputs = ", ".join(call.node.inputs)
    return f"F.conv{_axes(call)}d({inputs}, {settings}, groups={call.literal('groups')})"


def _conv_transpose(call: Call) -> str:
    names = (
        "stride=strides",
        "padding=padding",
        "output_padding=output_padding",
        "dilation=dilations",
        "groups=groups",
    )
    settings = ", ".join(f"{name.partition('=')[0]}={call.literal(name.partition('=')[2])}" for name in names)
    return f"F.conv{_axes(call)}d_transpose({', '.join(call.node.inputs)}, {settings})"


def _pool(function: str, more: str = "") -> Expression:
    def expression(call: Call) -> str:
        _check_windows(call)
        settings = "kernel_size={kernel}, stride={strides}, padding={padding}, ceil_mode={ceil}"
        return template(f"F.{function}{_axes(call)}d({{0}}, {settings}{more})")(call)

    return expression


def _check_windows(call: Call) -> None:
    """Paddle documents no dilation, and with ceil also windows that start beyond the image."""
    attributes = call.attributes
    if max(attributes.get("dilations", [1])) > 1:
        raise Unsupported("has no pooling with dilations")
    sizes = (call.types[0].shape[2:], call.type.shape[2:], *(attributes[n] for n in ("kernel", "strides", "padding")))
    for size, out, kernel, stride, pad in zip(*sizes, strict=True):
        if attributes["ceil"] and out != -(-(size + 2 * pad - kernel) // stride) + 1:
            raise Unsupported("has windows that start beyond the image")


def _avg_pool(call: Call) -> str:
    return _pool("avg_pool", f", exclusive={not call.attributes['include_pad']}")(call)


def _lp_pool(call: Call) -> str:
    """Paddle documents powers of x, not of |x|."""
    if _axes(call) == 3 or call.attributes["p"] % 2:
        raise Unsupported("has no pooling by odd powers or over three axes")
    settings = "{0}, {p}, kernel_size={kernel}, stride={strides}"
    return template(f"F.lp_pool{_axes(call)}d({settings})")(call)


def _adaptive(function: str) -> Expression:
    def expression(call: Call) -> str:
        size = call.attributes["size"]
        return f"F.{function}{_axes(call)}d({call[0]}, {size[0] if len(size) == 1 else size})"

    return expression


def _format(call: Call) -> str:
    return f'data_format="{FORMATS.get(call.type.rank, "NC")}"'


def _batch_norm(call: Call) -> str:
    settings = f"epsilon={call.literal('epsilon')}, {_format(call)}"
    return f"F.batch_norm({call[0]}, {call[3]}, {call[4]}, weight={call[1]}, bias={call[2]}, {settings})"


def _batch_norm_training(call: Call) -> str:
    settings = f"training=True, epsilon={call.literal('epsilon')}, {_format(call)}"
    running = f"paddle.zeros_like({call[1]}), paddle.ones_like({call[1]})"
    return f"F.batch_norm({call[0]}, {running}, weight={call[1]}, bias={call[2]}, {settings})"


def _group_norm(call: Call) -> str:
    data_format = f", {_format(call)}" if call.type.rank in FORMATS else ""
    given = f"{call[0]}, {call.literal('groups')}, epsilon={call.literal('epsilon')}"
    return f"F.group_norm({given}, weight={call[1]}, bias={call[2]}{data_format})"


def _layer_norm(call: Call) -> str:
    if call.attributes["axis"] == 0:
        raise Unsupported("normalises no whole tensor")
    shape, epsilon = list(call.type.shape[call.attributes["axis"] :]), call.literal("epsilon")
    weight, bias = (name if len(shape) == 1 else f"paddle.flatten({name})" for name in call.node.inputs[1:])
    return f"F.layer_norm({call[0]}, {shape}, weight={weight}, bias={bias}, epsilon={epsilon})"


def _local_response_norm(call: Call) -> str:
    settings = "size={size}, alpha={alpha}, beta={beta}, k={k}"
    return template(f"F.local_response_norm({{0}}, {settings}, {_format(call)})")(call)


def _resize(call: Call) -> str:
    mode, rank = call.attributes["mode"], call.type.rank
    if mode == "nearest_exact":
        raise Unsupported("has no nearest_exact")
    if mode == "nearest" and rank == 3:
        raise Unsupported("resizes sequences linearly only")
    kind = "nearest" if mode == "nearest" else "bicubic" if "cubic" in mode else LINEAR_MODES[rank]
    align = ", align_corners=True" if mode.endswith("align_corners") else ""
    data_format = "NCW" if rank == 3 else FORMATS[rank]
    return f'F.interpolate({call[0]}, {call.literal("size")}, mode="{kind}"{align}, data_format="{data_format}")'


def _grid_sample(call: Call) -> str:
    if call.attributes["mode"] == "bicubic":
        raise Unsupported("samples no grid bicubically")
    settings = "mode={mode}, padding_mode={padding}, align_corners={align_corners}"
    return template(f"F.grid_sample({{0}}, {{1}}, {settings})")(call)


def _attention(call: Call) -> str:
    heads = ", ".join(f"{call[place]}.unsqueeze(2)" for place in range(3))
    return f"F.scaled_dot_product_attention({heads}, is_causal={call.literal('causal')}).squeeze(2)"


LAYER_CLASSES = {"rnn": "SimpleRNN", "lstm": "LSTM", "gru": "GRU"}
WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def layer_of(call: Call) -> list[str]:
    """Lines that make the layer which a node calls, if it calls one."""
    if call.node.operator not in LAYER_CLASSES:
        return []
    layer, sizes = f"{call.node.name}_layer", f"{call.types[0].shape[2]}, {call.type.shape[2]}"
    return [
        f'paddle.set_default_dtype("{call.type.dtype}")',
        f"{layer} = paddle.nn.{LAYER_CLASSES[call.node.operator]}({sizes}, time_major=True)",
        *(f"{layer}.{weight}.set_value({name})" for weight, name in zip(WEIGHTS, call.node.inputs[1:], strict=True)),
        'paddle.set_default_dtype("float32")',
    ]


def _recurrent(call: Call) -> str:
    return f"{call.node.name}_layer({call[0]})[0]"


# rms_norm is missing as Paddle has it on GPUs only.
LAYERS: Mapping[str, Expression] = {
    **named("paddle.", "matmul"),
    "linear": template("F.linear({0}, {1}.T, {2})"),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _pool("max_pool"),
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive("adaptive_avg_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool"),
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": template("F.instance_norm({0}, weight={1}, bias={2}, eps={epsilon})"),
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "l2_normalize": template("F.normalize({0}, p=2, axis={axis}, epsilon={epsilon})"),
    "local_response_norm": _local_response_norm,
    "prelu": template("F.prelu({0}, {1})"),
    "glu": template("F.glu({0}, axis={axis})"),
    "dropout": template('{0} * paddle.cast({1}, "{dtype}") / (1 - {rate})'),
    "resize": _resize,
    "grid_sample": _grid_sample,
    "attention": _attention,
    "rnn": _recurrent,
    "lstm": _recurrent,
    "gru": _recurrent,
}

"""Operators with weights, and those that look at neighbourhoods, in ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native, only_float32
from jostle.frameworks.backends.program import Unsupported


def _linear(s: Sketch) -> str:
    if s.x.rank == 2:
        return s.add("Gemm", s[0], s[1], s[2], transB=1)
    return s.add("Add", s.add("MatMul", s[0], s.add("Transpose", s[1], perm=[1, 0])), s[2])


def _conv(s: Sketch) -> str:
    return s.add(
        "Conv",
        *s.call.node.inputs,
        strides=s.attributes["strides"],
        pads=s.attributes["before"] + s.attributes["after"],
        dilations=s.attributes["dilations"],
        group=s.attributes["groups"],
    )


def _conv_transpose(s: Sketch) -> str:
    return s.add(
        "ConvTranspose",
        *s.call.node.inputs,
        strides=s.attributes["strides"],
        pads=s.attributes["padding"] * 2,
        output_padding=s.attributes["output_padding"],
        dilations=s.attributes["dilations"],
        group=s.attributes["groups"],
    )


def _window(s: Sketch) -> dict[str, Any]:
    return {"kernel_shape": s.attributes["kernel"], "strides": s.attributes["strides"]}


def _max_pool(s: Sketch) -> str:
    pads, dilations = s.attributes["padding"] * 2, s.attributes["dilations"]
    return s.add("MaxPool", s[0], **_window(s), pads=pads, dilations=dilations, ceil_mode=s.attributes["ceil"])


def _avg_pool(s: Sketch) -> str:
    return s.add(
        "AveragePool",
        s[0],
        **_window(s),
        pads=s.attributes["padding"] * 2,
        ceil_mode=s.attributes["ceil"],
        count_include_pad=s.attributes["include_pad"],
    )


def _lp_pool(s: Sketch) -> str:
    return s.add("LpPool", s[0], **_window(s), p=s.attributes["p"])


def _adaptive(kind: str) -> Sketcher:
    """ONNX has windows of one size only."""

    def sketch(s: Sketch) -> str:
        sizes, wanted = s.x.shape[2:], s.attributes["size"]
        if all(size == 1 for size in wanted):
            return s.add(f"Global{kind}", s[0])
        if any(size % parts for size, parts in zip(sizes, wanted, strict=True)):
            raise Unsupported("has no pooling with windows of different sizes")
        kernel = [size // parts for size, parts in zip(sizes, wanted, strict=True)]
        return s.add(kind, s[0], kernel_shape=kernel, strides=kernel)

    return sketch


def _batch_norm_training(s: Sketch) -> str:
    """The running mean and variance go in and out; nothing is read of them."""
    before = [s.constant(name, [0.0] * s.x.shape[1], s.x.dtype) for name in ("mean", "var")]
    given = {"epsilon": s.attributes["epsilon"], "training_mode": 1}
    return s.add_with_outputs("BatchNormalization", 3, s[0], s[1], s[2], *before, **given)[0]


def _group_norm(s: Sketch) -> str:
    given = {"num_groups": s.attributes["groups"], "epsilon": s.attributes["epsilon"]}
    return s.add("GroupNormalization", *s.call.node.inputs, **given)


def _l2_normalize(s: Sketch) -> str:
    length = s.add("ReduceL2", s[0], s.constant("axes", [s.attributes["axis"]]))
    return s.add("Div", s[0], s.add("Max", length, s.constant("epsilon", s.attributes["epsilon"], s.x.dtype)))


def _local_response_norm(s: Sketch) -> str:
    """Of an even number of neighbours, ONNX takes one more on the other side."""
    if s.attributes["size"] % 2 == 0:
        raise Unsupported("normalises over other neighbours where their number is even")
    given = {name: s.attributes[name] for name in ("size", "alpha", "beta")}
    return s.add("LRN", s[0], **given, bias=s.attributes["k"])


def _prelu(s: Sketch) -> str:
    if s.x.rank == 2:
        return s.add("PRelu", s[0], s[1])
    return s.add("PRelu", s[0], s.add("Unsqueeze", s[1], s.constant("axes", list(range(1, s.x.rank - 1)))))


def _glu(s: Sketch) -> str:
    halves = s.constant("halves", [s.call.type.shape[s.attributes["axis"]]] * 2)
    kept, gate = s.add_with_outputs("Split", 2, s[0], halves, axis=s.attributes["axis"])
    return s.add("Mul", kept, s.add("Sigmoid", gate))


def _dropout(s: Sketch) -> str:
    kept = s.add("Mul", s[0], s.cast(s[1], s.x.dtype))
    return s.add("Div", kept, s.constant("kept", 1 - s.attributes["rate"], s.x.dtype))


RESIZE: Mapping[str, Mapping[str, Any]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "nearest_exact": {
        "mode": "nearest",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_ceil",
    },
    "linear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "linear_align_corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"},
    "cubic_align_corners": {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
}


def _resize(s: Sketch) -> str:
    sizes = s.constant("sizes", [*s.x.shape[:2], *s.attributes["size"]])
    return s.add("Resize", s[0], "", "", sizes, **RESIZE[s.attributes["mode"]])


SAMPLING = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


def _grid_sample(s: Sketch) -> str:
    given = {"padding_mode": s.attributes["padding"], "align_corners": s.attributes["align_corners"]}
    return s.add("GridSample", s[0], s[1], mode=SAMPLING[s.attributes["mode"]], **given)


def _attention(s: Sketch) -> str:
    heads = {"q_num_heads": 1, "kv_num_heads": 1}
    return s.add("Attention", *s.call.node.inputs, **heads, is_causal=s.attributes["causal"])


def _recurrent(kind: str, order: Sequence[int], **attributes: Any) -> Sketcher:
    """`order`: which of our gates stands where in ONNX."""

    def sketch(s: Sketch) -> str:
        hidden = s.call.types[2].shape[1]
        first = s.constant("first", [0])
        weights = [s.add("Unsqueeze", _gates(s, name, order, hidden), first) for name in (s[1], s[2])]
        biases = s.add("Concat", *(_gates(s, name, order, hidden) for name in (s[3], s[4])), axis=0)
        states = s.add(kind, s[0], *weights, s.add("Unsqueeze", biases, first), hidden_size=hidden, **attributes)
        return s.add("Squeeze", states, s.constant("direction", [1]))

    return sketch


def _gates(s: Sketch, name: str, order: Sequence[int], hidden: int) -> str:
    if len(order) == 1:
        return name
    rows = [gate * hidden + row for gate in order for row in range(hidden)]
    return s.add("Gather", name, s.constant("gates", rows), axis=0)


LAYERS: Mapping[str, Sketcher] = {
    "matmul": native("MatMul"),
    "linear": _linear,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive("AveragePool"),
    "adaptive_max_pool": _adaptive("MaxPool"),
    "batch_norm": native("BatchNormalization", "epsilon"),
    "batch_norm_training": _batch_norm_training,
    "instance_norm": native("InstanceNormalization", "epsilon"),
    "group_norm": _group_norm,
    "layer_norm": native("LayerNormalization", "axis", "epsilon"),
    "rms_norm": native("RMSNormalization", "epsilon"),
    "l2_normalize": _l2_normalize,
    "local_response_norm": _local_response_norm,
    "prelu": _prelu,
    "glu": _glu,
    "dropout": _dropout,
    "resize": _resize,
    "grid_sample": _grid_sample,
    "attention": only_float32(_attention, "the scale"),
    "rnn": _recurrent("RNN", (0,)),
    "lstm": _recurrent("LSTM", (0, 3, 1, 2)),
    "gru": _recurrent("GRU", (1, 0, 2), linear_before_reset=1),
}

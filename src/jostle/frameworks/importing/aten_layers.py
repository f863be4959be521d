"""The layers of torch's own graphs in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, dtype_of
from jostle.frameworks.importing.building import GraphBuilder


def _or_full(builder: GraphBuilder, name: str | None, shape: Sequence[int], fill: float, value: Any) -> str:
    return builder.full(shape, fill, dtype_of(value)) if name is None else name


def _per_axis(value: int | Sequence[int], axes: int) -> list[int]:
    """torch takes one number for all axes, or one for each."""
    values = [value] if isinstance(value, int) else list(value)
    return values * axes if len(values) == 1 else values


def _linear(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    bias = _or_full(builder, given["bias"], value.shape[-1:], 0.0, value)
    return builder.node("linear", given["input"], given["weight"], bias)


def _conv(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    """Also with padding by name; torch's "same" puts the odd one at the end."""
    axes, kernel = value.dim() - 2, builder.types[given["weight"]].shape[2:]
    dilations = _per_axis(given["dilation"], axes)
    if given["padding"] == "same":
        total = [dilation * (size - 1) for dilation, size in zip(dilations, kernel, strict=True)]
        before, after = [size // 2 for size in total], [size - size // 2 for size in total]
    else:
        before = [0] * axes if given["padding"] == "valid" else _per_axis(given["padding"], axes)
        after = list(before)
    bias = _or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    settings = {"strides": _per_axis(given["stride"], axes), "dilations": dilations, "groups": given["groups"]}
    return builder.node("conv", given["input"], given["weight"], bias, before=before, after=after, **settings)


def _conv_transpose(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    bias = _or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    names = {"strides": "stride", "padding": "padding", "output_padding": "output_padding", "dilations": "dilation"}
    settings = {name: _per_axis(given[source], value.dim() - 2) for name, source in names.items()}
    return builder.node("conv_transpose", given["input"], given["weight"], bias, groups=given["groups"], **settings)


def _window(given: Arguments, axes: int) -> dict[str, list[int]]:
    kernel = _per_axis(given["kernel_size"], axes)
    strides = _per_axis(given["stride"], axes) if given["stride"] else kernel
    return {"kernel": kernel, "strides": strides, "padding": _per_axis(given["padding"], axes)}


def _max_pool(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    _require_batch(builder, given["self"], value, "max_pool")
    axes = value.dim() - 2
    dilations = _per_axis(given["dilation"], axes)
    return builder.node("max_pool", given["self"], dilations=dilations, ceil=given["ceil_mode"], **_window(given, axes))


def _avg_pool(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if given.get("divisor_override") is not None:
        raise Untranslated("avg_pool with a divisor")
    settings = {"ceil": given["ceil_mode"], "include_pad": given["count_include_pad"]}
    return builder.node("avg_pool", given["self"], **settings, **_window(given, value.dim() - 2))


def _require_batch(builder: GraphBuilder, name: str, value: Any, operator: str) -> None:
    if builder.types[name].rank != value.dim() or value.dim() < 3:
        raise Untranslated(f"{operator} without a batch")


def _adaptive(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        return builder.node(operator, given["self"], size=[int(size) for size in value.shape[2:]])

    return translate


def _batch_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    channels = value.shape[1:2]
    scale = _or_full(builder, given["weight"], channels, 1.0, value)
    bias = _or_full(builder, given["bias"], channels, 0.0, value)
    if given.get("training") or given["running_mean"] is None:
        return builder.node("batch_norm_training", given["input"], scale, bias, epsilon=given["eps"])
    statistics = given["running_mean"], given["running_var"]
    return builder.node("batch_norm", given["input"], scale, bias, *statistics, epsilon=given["eps"])


def _native_batch_norm(builder: GraphBuilder, given: Arguments, value: Any) -> list[str]:
    """Of the results, the first: torch gives its statistics too."""
    return [_batch_norm(builder, given, value[0])]


def _instance_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if not given["use_input_stats"]:
        raise Untranslated("instance_norm with statistics")
    scale = _or_full(builder, given["weight"], value.shape[1:2], 1.0, value)
    bias = _or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    return builder.node("instance_norm", given["input"], scale, bias, epsilon=given["eps"])


def _group_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    scale = _or_full(builder, given["weight"], value.shape[1:2], 1.0, value)
    bias = _or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    return builder.node("group_norm", given["input"], scale, bias, groups=given["num_groups"], epsilon=given["eps"])


def _layer_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    shape = given["normalized_shape"]
    scale = _or_full(builder, given["weight"], shape, 1.0, value)
    bias = _or_full(builder, given["bias"], shape, 0.0, value)
    axis = value.dim() - len(shape)
    return builder.node("layer_norm", given["input"], scale, bias, axis=axis, epsilon=given["eps"])


def _rms_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if len(given["normalized_shape"]) != 1 or given["eps"] is None:
        raise Untranslated("rms_norm over several axes or with an epsilon of its own")
    scale = _or_full(builder, given["weight"], value.shape[-1:], 1.0, value)
    return builder.node("rms_norm", given["input"], scale, epsilon=given["eps"])


def _prelu(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    slopes = given["weight"]
    if builder.types[slopes].size != value.shape[1]:
        slopes = builder.node("expand", slopes, shape=[int(value.shape[1])])
    return builder.node("prelu", given["self"], slopes)


def _resize(mode: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        named = f"{mode}_align_corners" if given.get("align_corners") else mode
        return builder.node(
            "resize", given.get("self") or given["input"], size=list(map(int, value.shape[2:])), mode=named
        )

    return translate


def _recurrent(operator: str) -> Translation:
    """Any number of layers, in both directions too; of the results, the states of all times."""

    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> list[str]:
        if any(builder.leaves[state].array.any() if state in builder.leaves else True for state in _states(given)):
            raise Untranslated(f"{operator} from a state")
        if given["train"] and given["dropout"]:
            raise Untranslated(f"{operator} with dropout in training")
        x = _swapped(builder, given["input"]) if given["batch_first"] else given["input"]
        weights = _by_direction(builder, given, x)
        for _ in range(given["num_layers"]):
            x = _layer(builder, operator, x, [next(weights) for _ in range(1 + given["bidirectional"])])
        return [_swapped(builder, x) if given["batch_first"] else x]

    return translate


def _states(given: Arguments) -> list[str]:
    return [given["hx"]] if isinstance(given["hx"], str) else given["hx"]


def _by_direction(builder: GraphBuilder, given: Arguments, x: str) -> Any:
    """Four weights for each layer and direction."""
    params, count = given["params"], 4 if given["has_biases"] else 2
    for start in range(0, len(params), count):
        taken, kept, *biases = params[start : start + count]
        rows, dtype = builder.types[taken].shape[:1], builder.types[x].dtype
        yield taken, kept, *(biases or [builder.full(rows, 0.0, dtype), builder.full(rows, 0.0, dtype)])


def _layer(builder: GraphBuilder, operator: str, x: str, directions: Sequence[Sequence[str]]) -> str:
    forwards = builder.node(operator, x, *directions[0])
    if len(directions) == 1:
        return forwards
    backwards = builder.node(operator, builder.node("flip", x, axes=[0]), *directions[1])
    return builder.node("concat", forwards, builder.node("flip", backwards, axes=[0]), axis=2)


def _swapped(builder: GraphBuilder, name: str) -> str:
    return builder.node("transpose", name, permutation=[1, 0, 2])


LAYERS: Mapping[str, Translation] = {
    "linear": _linear,
    **{f"conv{axes}d": _conv for axes in (1, 2, 3)},
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose),
    **{f"max_pool{axes}d": _max_pool for axes in (1, 2, 3)},
    **{f"avg_pool{axes}d": _avg_pool for axes in (1, 2, 3)},
    **{f"adaptive_avg_pool{axes}d": _adaptive("adaptive_avg_pool") for axes in (1, 2, 3)},
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _native_batch_norm,
    "_native_batch_norm_legit_functional": _native_batch_norm,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "prelu": _prelu,
    **{f"upsample_nearest{axes}d": _resize("nearest") for axes in (1, 2, 3)},
    **{f"_upsample_nearest_exact{axes}d": _resize("nearest_exact") for axes in (1, 2, 3)},
    **{f"upsample_{name}": _resize("linear") for name in ("linear1d", "bilinear2d", "trilinear3d")},
    "upsample_bicubic2d": _resize("cubic"),
    "rnn_tanh": _recurrent("rnn"),
    "lstm": _recurrent("lstm"),
    "gru": _recurrent("gru"),
}

"""The operators of torch's own graphs that normalise, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, or_full
from jostle.frameworks.importing.building import GraphBuilder


def _batch_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    channels = value.shape[1:2]
    scale = or_full(builder, given["weight"], channels, 1.0, value)
    bias = or_full(builder, given["bias"], channels, 0.0, value)
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
    scale = or_full(builder, given["weight"], value.shape[1:2], 1.0, value)
    bias = or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    return builder.node("instance_norm", given["input"], scale, bias, epsilon=given["eps"])


def _group_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    scale = or_full(builder, given["weight"], value.shape[1:2], 1.0, value)
    bias = or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    return builder.node("group_norm", given["input"], scale, bias, groups=given["num_groups"], epsilon=given["eps"])


def _layer_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    shape = given["normalized_shape"]
    scale = or_full(builder, given["weight"], shape, 1.0, value)
    bias = or_full(builder, given["bias"], shape, 0.0, value)
    axis = value.dim() - len(shape)
    return builder.node("layer_norm", given["input"], scale, bias, axis=axis, epsilon=given["eps"])


def _rms_norm(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if len(given["normalized_shape"]) != 1 or given["eps"] is None:
        raise Untranslated("rms_norm over several axes or with an epsilon of its own")
    scale = or_full(builder, given["weight"], value.shape[-1:], 1.0, value)
    return builder.node("rms_norm", given["input"], scale, epsilon=given["eps"])


NORMALISATION: Mapping[str, Translation] = {
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _native_batch_norm,
    "_native_batch_norm_legit_functional": _native_batch_norm,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}

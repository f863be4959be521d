"""Our operators for those of ONNX that normalise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading, axis_of


def _epsilon(node: Read) -> float:
    return float(node.attributes.get("epsilon", 1e-5))


def _batch_norm(g: Reading, node: Read) -> Sequence[str]:
    node.only(training_mode=0, spatial=1)
    return [g.add("batch_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _instance_norm(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("instance_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _group_norm(g: Reading, node: Read) -> Sequence[str]:
    if node.opset < 21:
        raise NoCounterpart(f"GroupNormalization of opset {node.opset}")
    groups = node.attributes["num_groups"]
    return [g.add("group_norm", *map(g.tensor, node.inputs), groups=groups, epsilon=_epsilon(node))]


def _layer_norm(g: Reading, node: Read) -> Sequence[str]:
    x, scale = g.tensor(node.inputs[0]), g.tensor(node.inputs[1])
    axis = axis_of(node.attributes.get("axis", -1), g.type(x).rank)
    zeros = np.zeros(g.type(scale).shape, g.type(scale).dtype)
    bias = g.tensor(node.inputs[2]) if node.has(2) else g.constant(zeros, "bias")
    return [g.add("layer_norm", x, scale, bias, axis=axis, epsilon=_epsilon(node))]


def _rms_norm(g: Reading, node: Read) -> Sequence[str]:
    node.only(axis=-1)
    return [g.add("rms_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _lrn(g: Reading, node: Read) -> Sequence[str]:
    size = node.attributes["size"]
    if size % 2 == 0:
        raise NoCounterpart("LRN with an even size")
    usual = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    alpha, beta, k = (float(node.attributes.get(name, value)) for name, value in usual.items())
    return [g.add("local_response_norm", g.tensor(node.inputs[0]), size=size, alpha=alpha, beta=beta, k=k)]


NORMALISATION: Mapping[str, Counterpart] = {
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm,
    "LRN": _lrn,
}

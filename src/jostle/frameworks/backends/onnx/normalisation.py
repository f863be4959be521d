"""How ONNX normalises."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native
from jostle.frameworks.backends.program import Unsupported


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


NORMALISATION: Mapping[str, Sketcher] = {
    "batch_norm": native("BatchNormalization", "epsilon"),
    "batch_norm_training": _batch_norm_training,
    "instance_norm": native("InstanceNormalization", "epsilon"),
    "group_norm": _group_norm,
    "layer_norm": native("LayerNormalization", "axis", "epsilon"),
    "rms_norm": native("RMSNormalization", "epsilon"),
    "l2_normalize": _l2_normalize,
    "local_response_norm": _local_response_norm,
}

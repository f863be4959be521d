"""How Paddle normalises."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.indexing import FORMATS
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template


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


# rms_norm is missing as Paddle has it on GPUs only.
NORMALISATION: Mapping[str, Expression] = {
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": template("F.instance_norm({0}, weight={1}, bias={2}, eps={epsilon})"),
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "l2_normalize": template("F.normalize({0}, p=2, axis={axis}, epsilon={epsilon})"),
    "local_response_norm": _local_response_norm,
}

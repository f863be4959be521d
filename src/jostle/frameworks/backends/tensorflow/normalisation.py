"""How TensorFlow normalises."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template
from jostle.frameworks.backends.tensorflow.elementwise import per_channel
from jostle.frameworks.backends.tensorflow.shaping import channels_first, channels_last


def _fused(call: Call) -> bool:
    return call.type.rank == 4 and call.type.dtype == "float32"


def _batch_norm(call: Call) -> str:
    epsilon = call.literal("epsilon")
    if _fused(call):
        given = f"x={call[0]}, scale={call[1]}, offset={call[2]}, mean={call[3]}, variance={call[4]}"
        return _fused_batch_norm(call, given, training=False)
    given = f"mean={call[3]}, variance={call[4]}, offset={call[2]}, scale={call[1]}"
    return f"tf.keras.ops.batch_normalization({call[0]}, axis=1, {given}, epsilon={epsilon})"


def _fused_batch_norm(call: Call, given: str, *, training: bool) -> str:
    image = given.replace(f"x={call[0]}", f"x=tf.transpose({call[0]}, [0, 2, 3, 1])", 1)
    settings = f"epsilon={call.literal('epsilon')}, is_training={training}"
    return f"tf.transpose(tf.raw_ops.FusedBatchNormV3({image}, {settings}).y, [0, 3, 1, 2])"


def _batch_norm_training(call: Call) -> str:
    if _fused(call):
        given = f"x={call[0]}, scale={call[1]}, offset={call[2]}, mean=[], variance=[]"
        return _fused_batch_norm(call, given, training=True)
    return _normalised(call, [0, *range(2, call.type.rank)])


def _instance_norm(call: Call) -> str:
    return _normalised(call, list(range(2, call.type.rank)))


def _normalised(call: Call, axes: list[int]) -> str:
    moments = f"*tf.nn.moments({call[0]}, {axes}, keepdims=True)"
    affine = f"offset={per_channel(call, 2)}, scale={per_channel(call, 1)}"
    return f"tf.nn.batch_normalization({call[0]}, {moments}, {affine}, variance_epsilon={call.literal('epsilon')})"


def _group_norm(call: Call) -> str:
    batch, channels, *sizes = call.type.shape
    groups = call.attributes["groups"]
    split = f"tf.reshape({call[0]}, {[batch, groups, channels // groups, *sizes]})"
    axes = tuple(range(2, call.type.rank + 1))
    normal = f"tf.keras.ops.layer_normalization({split}, axis={axes}, epsilon={call.literal('epsilon')})"
    return f"tf.reshape({normal}, {list(call.type.shape)}) * {per_channel(call, 1)} + {per_channel(call, 2)}"


def _layer_norm(call: Call) -> str:
    axes = list(range(call.attributes["axis"], call.type.rank))
    given = f"gamma={call[1]}, beta={call[2]}"
    return f"tf.keras.ops.layer_normalization({call[0]}, {given}, axis={axes}, epsilon={call.literal('epsilon')})"


def _l2_normalize(call: Call) -> str:
    """TensorFlow's epsilon bounds the square."""
    return f"tf.math.l2_normalize({call[0]}, axis={call.literal('axis')}, epsilon={call.attributes['epsilon'] ** 2!r})"


def _local_response_norm(call: Call) -> str:
    size, shape = call.attributes["size"], call.type.shape
    if size % 2 == 0 or call.type.dtype != "float32":
        raise Unsupported("normalises float32 over an odd number of channels only")
    image = call[0] if len(shape) == 4 else f"tf.reshape({call[0]}, {[*shape[:2], -1, 1]})"
    alpha = f"{call.literal('alpha')} / {size}"
    settings = f"bias={call.literal('k')}, alpha={alpha}, beta={call.literal('beta')}"
    found = channels_first(
        f"tf.nn.local_response_normalization({channels_last(image, 4)}, depth_radius={size // 2}, {settings})", 4
    )
    return found if len(shape) == 4 else f"tf.reshape({found}, {list(shape)})"


NORMALISATION: Mapping[str, Expression] = {
    "batch_norm": _batch_norm,
    "batch_norm_training": _batch_norm_training,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": template("tf.keras.ops.rms_normalization({0}, scale={1}, axis=-1, epsilon={epsilon})"),
    "l2_normalize": _l2_normalize,
    "local_response_norm": _local_response_norm,
}

"""How TensorFlow picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, templates

REDUCE = {"sum": "reduce_sum", "mean": "reduce_mean", "max": "reduce_max"}


def _require_elements(call: Call) -> None:
    """What adds to a tensor without elements is refused with a message that says so, unless it adds nothing."""
    if 0 in call.type.shape and 0 not in call.types[1].shape:
        raise Unsupported("adds nothing to a tensor without elements")


def _scatter_nd_add(call: Call) -> str:
    _require_elements(call)
    return fill("tf.tensor_scatter_nd_add({0}, {1}, {2})", call)


def _index_add(call: Call) -> str:
    """Added along the first axis, which others are brought to."""
    _require_elements(call)
    axis, rank = call.attributes["axis"], call.type.rank
    order = [axis, *(at for at in range(rank) if at != axis)]
    back = [order.index(at) for at in range(rank)]
    x, updates = (f"tf.transpose({call[at]}, {order})" if axis else call[at] for at in (0, 2))
    found = f"tf.tensor_scatter_nd_add({x}, {call[1]}[:, None], {updates})"
    return f"tf.transpose({found}, {back})" if axis else found


def _embedding_bag(call: Call) -> str:
    return f"tf.{REDUCE[call.attributes['mode']]}(tf.nn.embedding_lookup({call[0]}, {call[1]}), axis=1)"


SELECTION: Mapping[str, Expression] = {
    **templates(
        {
            "masked_fill": "tf.where({1}, tf.constant({value}, {0}.dtype), {0})",
            "gather_nd": "tf.gather_nd({0}, {1})",
            "segment_sum": "tf.math.unsorted_segment_sum({0}, {1}, {segments})",
            "reverse_sequence": "tf.reverse_sequence({0}, {1}, seq_axis=1, batch_axis=0)",
            "diagonal": "tf.linalg.diag_part({0}, k={offset})",
            "diag_embed": "tf.linalg.diag({0}, k={offset})",
            "repeat_interleave": "tf.repeat({0}, {times}, axis={axis})",
            "rot90": "tf.experimental.numpy.rot90({0}, {times})",
            "movedim": "tf.experimental.numpy.moveaxis({0}, {source}, {target})",
        }
    ),
    "index_add": _index_add,
    "scatter_nd_add": _scatter_nd_add,
    "embedding_bag": _embedding_bag,
    "roll_all": lambda call: fill(f"tf.roll({{0}}, {{shifts}}, axis={list(range(call.type.rank))})", call),
}

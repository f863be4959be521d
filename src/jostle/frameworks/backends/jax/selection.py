"""How JAX picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import columns, fill, templates


def _at_axis(call: Call) -> str:
    before = ":, " * call.attributes["axis"]
    return f"{call[0]}.at[{before}{call[1]}].add({call[2]})"


def _embedding_bag(call: Call) -> str:
    return f"jnp.{call.attributes['mode']}({call[0]}[{call[1]}], axis=1)"


def _reverse_sequence(call: Call) -> str:
    steps, lengths = f"jnp.arange({call.type.shape[1]})", f"{call[1]}[:, None]"
    places = f"jnp.where({steps} < {lengths}, {lengths} - 1 - {steps}, {steps})"
    return f"{call[0]}[jnp.arange({call.type.shape[0]})[:, None], {places}]"


def _diag_embed(call: Call) -> str:
    offset = call.attributes["offset"]
    size, length = call.type.shape[-1], call.types[0].shape[-1]
    rows = f"jnp.arange({length}) + {max(-offset, 0)}"
    zeros = fill(f"jnp.zeros({(*call.types[0].shape[:-1], size, size)}, {{dtype!r}})", call)
    return f"{zeros}.at[..., {rows}, {rows} + {offset}].set({call[0]})"


SELECTION: Mapping[str, Expression] = {
    **templates(
        {
            "masked_fill": "jnp.where({1}, {value}, {0})",
            "segment_sum": "jax.ops.segment_sum({0}, {1}, num_segments={segments})",
            "diagonal": "jnp.diagonal({0}, {offset}, -2, -1)",
            "repeat_interleave": "jnp.repeat({0}, {times}, axis={axis})",
            "rot90": "jnp.rot90({0}, {times})",
            "movedim": "jnp.moveaxis({0}, {source}, {target})",
        }
    ),
    "index_add": _at_axis,
    "gather_nd": lambda call: f"{call[0]}[{columns(call)}]",
    "scatter_nd_add": lambda call: f"{call[0]}.at[{columns(call)}].add({call[2]})",
    "embedding_bag": _embedding_bag,
    "reverse_sequence": _reverse_sequence,
    "diag_embed": _diag_embed,
    "roll_all": lambda call: fill(f"jnp.roll({{0}}, {{shifts}}, axis={list(range(call.type.rank))})", call),
}

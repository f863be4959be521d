"""How torch picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import columns, fill, templates


def _segment_sum(call: Call) -> str:
    zeros = f"{call[0]}.new_zeros({literal(call.type.shape)})"
    return f"torch.index_add({zeros}, 0, {call[1]}, {call[0]})"


def _reverse_sequence(call: Call) -> str:
    time, rank = call.type.shape[1], call.type.rank
    steps, lengths = f"torch.arange({time})", f"{call[1]}[:, None]"
    places = f"torch.where({steps} < {lengths}, {lengths} - 1 - {steps}, {steps})"
    ones = (*call.type.shape[:2], *[1] * (rank - 2))
    return f"torch.gather({call[0]}, 1, {places}.reshape({ones}).expand({literal(call.type.shape)}))"


SELECTION: Mapping[str, Expression] = {
    **templates(
        {
            "masked_fill": "torch.masked_fill({0}, {1}, {value})",
            "index_add": "torch.index_add({0}, {axis}, {1}, {2})",
            "scatter_mean": 'torch.scatter_reduce({0}, {axis}, {1}, {2}, reduce="mean")',
            "embedding_bag": "F.embedding_bag({1}, {0}, mode={mode})",
            "diagonal": "torch.diagonal({0}, {offset}, -2, -1)",
            "diag_embed": "torch.diag_embed({0}, {offset})",
            "repeat_interleave": "torch.repeat_interleave({0}, {times}, dim={axis})",
            "rot90": "torch.rot90({0}, {times}, [0, 1])",
            "movedim": "torch.movedim({0}, {source}, {target})",
        }
    ),
    "gather_nd": lambda call: f"{call[0]}[{columns(call)}]",
    "scatter_nd_add": lambda call: f"torch.index_put({call[0]}, ({columns(call)},), {call[2]}, accumulate=True)",
    "segment_sum": _segment_sum,
    "reverse_sequence": _reverse_sequence,
    "roll_all": lambda call: fill(f"torch.roll({{0}}, {{shifts}}, {literal(list(range(call.type.rank)))})", call),
}

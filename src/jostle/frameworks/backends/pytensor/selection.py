"""How PyTensor picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in
from jostle.frameworks.backends.templates import columns


def _index_add(call: Call) -> str:
    before = ":, " * call.attributes["axis"]
    return f"{call[0]}[{before}{call[1]}].inc({call[2]})"


def _embedding_bag(call: Call) -> str:
    return f"pt.{call.attributes['mode']}({call[0]}[{call[1]}], axis=1)"


SELECTION: Mapping[str, Expression] = {
    **all_filled_in(
        {
            "masked_fill": "pt.switch({1}, {value}, {0})",
            "diagonal": "pt.diagonal({0}, {offset}, -2, -1)",
            "repeat_interleave": "pt.repeat({0}, {times}, axis={axis})",
            "movedim": "pt.moveaxis({0}, {source}, {target})",
        }
    ),
    "index_add": _index_add,
    "gather_nd": lambda call: f"{call[0]}[{columns(call)}]",
    "scatter_nd_add": lambda call: f"{call[0]}[{columns(call)}].inc({call[2]})",
    "embedding_bag": _embedding_bag,
}

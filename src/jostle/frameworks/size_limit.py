"""How large a model of a user's own may be: as large as the machine's memory lets it be compared."""

from __future__ import annotations

from collections.abc import Iterable

from jostle.errors import ModelRefused
from jostle.frameworks.graph import TensorType
from jostle.isolation.process import most_memory

# Of one element: it is computed in float64 here and in the reference's process, encoded for each, and computed again.
BYTES = 64


def most_elements() -> int:
    """Of all tensors of a model together."""
    return most_memory() // BYTES


def refuse_beyond_memory(types: Iterable[TensorType]) -> None:
    """Refuses tensors that are too many elements together."""
    elements, most = sum(type_.size for type_ in types), most_elements()
    if elements > most:
        raise ModelRefused(
            f"its tensors have {elements:,} elements, and this machine's memory is enough to compare {most:,}; "
            "give a smaller model, batch or --shape"
        )

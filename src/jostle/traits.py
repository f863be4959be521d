"""What can be known of how a model treats the batch that it is given, without comparing its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Traits:
    """Facts about a model; layers are told by name and type, such as `bn1 (BatchNorm2d)`."""

    in_training: bool = False  # a part of it behaves as in training, although eval() was called
    over_batch: tuple[str, ...] = ()  # layers that normalise over the batch
    quantised: tuple[str, ...] = ()  # layers that take the scale of their numbers from the whole batch
    changes_input: bool = False  # it writes into the batch that it is given
    one_by_one: bool = False  # it accepts batches of one input only

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> Traits:
        """The traits that another process told as a JSON object."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
        }
        return Traits(**values)


NO_TRAITS = Traits()

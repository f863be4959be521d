"""What inputs may be: mutators stay in it, and findings are shown in its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from torch import Tensor


class Outside(NamedTuple):
    """The first place where an input leaves its domain."""

    row: int  # of the batch
    problem: str  # the place and the value, and what the domain has there: "age is 130, above 90"


class Domain(Protocol):
    """The inputs that have a meaning.

    Law: what `nearest` gives is inside, and is what it was given where that was inside already.
    """

    @property
    def kind(self) -> str:
        """What a person calls such inputs: image, array, table, tokens, audio, several."""

    @property
    def mutator(self) -> str:
        """What changes such inputs, unless the user names another."""

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        """Inputs [batch, ...], moved into the domain where they left it, given the root seed of each [batch, ...]."""

    def outside(self, inputs: Tensor) -> Outside | None:
        """Where inputs [batch, ...] leave it; None if all of them are inside."""

    def lines(self) -> list[str]:
        """What a person should know of it before a campaign begins."""

    def as_toml(self) -> dict[str, Any]:
        """What a file given as --domain holds of it."""

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        """An input [...] and what it is compared with in a form that a person reads, as files by name."""

"""How inputs reach a model: one as it is, several by position or by the names of its parameters."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from jostle.errors import ModelRefused
from jostle.layout import Layout

Call = tuple[tuple[Tensor, ...], dict[str, Tensor]]  # by position, and by name


@dataclass(frozen=True)
class Parameters:
    """What a model can be called with."""

    positional: tuple[str, ...] = ()  # in their order, never by name
    named: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    open: bool = False  # it takes any number by position, so that its signature tells nothing
    any_name: bool = False  # it takes more by any name

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.positional, *self.named)


class Arguments(Protocol):
    """How inputs that are not one tensor to a model reach it."""

    def of(self, rows: Tensor, dtype: torch.dtype) -> Call:
        """The arguments for rows [batch, ...], of which floating-point ones are in this precision."""

    def seen(self, rows: Tensor) -> object:
        """What a user's own function is given for such rows."""


@dataclass(frozen=True)
class PackedArguments:
    """Where in a call each of the inputs in a row stands."""

    layout: Layout
    positional: tuple[str, ...]
    named: tuple[str, ...] = ()

    @staticmethod
    def fitting(layout: Layout, parameters: Parameters) -> PackedArguments:
        """How a model with these parameters is called; ModelRefused where the inputs are not those it takes."""
        names = set(layout.names)
        if not layout.by_name or (parameters.open and not names <= set(parameters.names)):
            _check_count(layout, parameters)
            return PackedArguments(layout, layout.names)
        if not parameters.required <= names or not (parameters.any_name or names <= set(parameters.names)):
            raise ModelRefused(
                f"seeds have the inputs {', '.join(layout.names)}, and the model takes "
                f"{', '.join(parameters.names)}{_missing(parameters, names)}: give arrays of "
                f"these names{_way_out(set(parameters.names) - names)}"
            )
        by_position = tuple(name for name in parameters.positional if name in names)
        return PackedArguments(layout, by_position, tuple(name for name in layout.names if name not in by_position))

    def of(self, rows: Tensor, dtype: torch.dtype) -> Call:
        """The arguments for rows [batch, total], of which floating-point ones are in this precision."""
        values = {
            name: (value.to(dtype) if value.is_floating_point() else value).contiguous()
            for name, value in self.layout.unpacked(rows).items()
        }
        return tuple(values[name] for name in self.positional), {name: values[name] for name in self.named}

    def seen(self, rows: Tensor) -> dict[str, Tensor]:
        """The inputs by name."""
        return self.layout.unpacked(rows)


def _check_count(layout: Layout, parameters: Parameters) -> None:
    given, most = len(layout.fields), len(parameters.names)
    if not parameters.open and not len(parameters.required) <= given <= most:
        raise ModelRefused(
            f"seeds have {given} inputs, and the model takes {most} ({', '.join(parameters.names)}): give as many "
            f"arrays"
        )


def check_takes_one(parameters: Parameters) -> None:
    """Refuses a model that needs several inputs where there is one."""
    if len(parameters.required) > 1:
        names = ", ".join(name for name in parameters.names if name in parameters.required)
        raise ModelRefused(
            f"the model takes {names}, and seeds are one array: give an .npz with arrays of these names"
            f"{_way_out(parameters.required)}"
        )


def _missing(parameters: Parameters, names: Set[str]) -> str:
    """Which of those that it needs are not among the names."""
    missing = [name for name in parameters.names if name in parameters.required - names]
    return f", of which {', '.join(missing)} is missing" if missing else ""


def _way_out(names: Set[str]) -> str:
    """How inputs are given whose names are those of labels."""
    if "labels" in names:
        return ", from FILE.py:function that returns a dict of them and the labels, because labels are no input"
    return ", and the labels as labels (-1 if unknown), because y alone is taken for them" if "y" in names else ""

"""How inputs reach a torch module: one as it is, several by position or by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.layout import Layout

Call = tuple[tuple[Tensor, ...], dict[str, Tensor]]  # by position, and by name


@dataclass(frozen=True)
class Parameters:
    """What a module can be called with."""

    positional: tuple[str, ...] = ()  # in their order, never by name
    named: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    open: bool = False  # it takes any number by position, so that its signature tells nothing
    any_name: bool = False  # it takes more by any name

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.positional, *self.named)


class Arguments(Protocol):
    """How inputs that are not one tensor to a module reach it."""

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
        """How a module with these parameters is called; ModelRefused where the inputs are not those it takes."""
        names = set(layout.names)
        if not layout.by_name or (parameters.open and not names <= set(parameters.names)):
            _check_count(layout, parameters)
            return PackedArguments(layout, layout.names)
        if not parameters.required <= names or not (parameters.any_name or names <= set(parameters.names)):
            raise ModelRefused(
                f"seeds have the inputs {', '.join(layout.names)}, and the model takes "
                f"{', '.join(parameters.names)}: give arrays of these names{_way_out(set(parameters.names) - names)}"
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
    """Refuses a module that needs several inputs where there is one."""
    if len(parameters.required) > 1:
        names = ", ".join(name for name in parameters.names if name in parameters.required)
        raise ModelRefused(
            f"the model takes {names}, and seeds are one array: give an .npz with arrays of these names"
            f"{_way_out(parameters.required)}"
        )


def _way_out(names: Set[str]) -> str:
    """How inputs are given whose names are those of labels."""
    if "labels" in names:
        return ", from FILE.py:function that returns a dict of them and the labels, because labels are no input"
    return ", and the labels as labels (-1 if unknown), because y alone is taken for them" if "y" in names else ""


def parameters_of(module: nn.Module) -> Parameters:
    """What the module's own signature says."""
    if isinstance(module, torch.jit.ScriptModule):
        arguments = module.forward.schema.arguments[1:]  # type: ignore[attr-defined]
        needed = frozenset(one.name for one in arguments if not one.has_default_value())
        return Parameters(named=tuple(one.name for one in arguments), required=needed)
    try:
        found = inspect.signature(getattr(module, "wrapped", module.forward)).parameters.values()
    except ValueError:  # a built-in function without a signature
        return Parameters(open=True)
    by_position = tuple(one.name for one in found if one.kind is one.POSITIONAL_ONLY)
    named = tuple(one.name for one in found if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    required = (one.name for one in found if one.default is one.empty and one.name in (*by_position, *named))
    kinds = {one.kind for one in found}
    open_ended, any_name = inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds
    return Parameters(by_position, named, frozenset(required), open_ended, any_name)


def called(module: nn.Module, inputs: Tensor, arguments: Arguments | None, dtype: torch.dtype = torch.float32) -> Any:
    """What a module returns for inputs [batch, ...], which reach it by arguments if there are such."""
    if arguments is None:
        return module(inputs)
    positional, named = arguments.of(inputs, dtype)
    return module(*positional, **named)

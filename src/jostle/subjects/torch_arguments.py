"""What a torch module can be called with, and calling it."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from jostle.subjects.arguments import Arguments, Parameters


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

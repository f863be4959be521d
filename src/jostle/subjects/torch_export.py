"""Torch modules traced by torch.export, for any batch where a module lets it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from jostle.foreign import Crash, FailedElsewhere, attempt
from jostle.subjects.arguments import Call, Parameters

FIXED = (16, 1)  # rows, where a module cannot be traced for any number of them


def exported(module: nn.Module, row: Call, batch: int | None = None) -> torch.export.ExportedProgram:
    """The module traced on one row [1, ...] repeated: for its only batch size, for any, or for one that it allows.

    If it can be traced for none, FailedElsewhere says why not for the first of these.
    """
    crashes = []
    for rows, shapes in _tries(row, batch):
        program = attempt(lambda: torch.export.export(module.eval(), *rows, dynamic_shapes=shapes))
        if not isinstance(program, Crash):
            return program
        crashes.append(program)
    raise FailedElsewhere(crashes[0])


def for_any_batch(module: nn.Module, row: Call) -> torch.export.ExportedProgram:
    """The module traced for any batch; what torch.export raises, this raises."""
    rows = _repeated(row, 2)  # with one row, its size would be taken for fixed
    return torch.export.export(module, *rows, dynamic_shapes=_any_size(rows))


def calling_itself_by(module: nn.Module, parameters: Parameters) -> nn.Module:
    """A module whose signature hides its parameters, with these in it: torch names inputs of a program by them."""
    own = module.forward

    def forward(*given: Any, **named: Any) -> Any:
        return own(*given, **named)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in parameters.names]
    )
    module.forward = forward
    return module


def _tries(row: Call, batch: int | None) -> Iterator[tuple[Call, Any]]:
    if batch is None:
        rows = _repeated(row, 2)
        yield rows, _any_size(rows)
    for size in FIXED if batch is None else (batch,):
        yield _repeated(row, size), None


def _repeated(row: Call, size: int) -> Call:
    def again(value: Tensor) -> Tensor:
        return value[:1].expand(size, *value.shape[1:]).clone()

    return tuple(map(again, row[0])), {name: again(value) for name, value in row[1].items()}


def _any_size(rows: Call) -> Any:
    shapes, batch = torch.export.ShapesCollection(), torch.export.Dim("batch", min=1)
    for value in (*rows[0], *rows[1].values()):
        shapes[value] = {0: batch}
    return shapes

"""Plain Python functions of a batch as subjects."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from jostle.subjects.subject import Subject, SubjectKind
from jostle.subjects.torch_module import TORCH_TWINS, of_module


class Function(nn.Module):
    """A function of a batch; it gets numpy arrays if its first parameter is annotated so, else tensors."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.wrapped = function
        self._numpy = takes_numpy(function)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        given = {name: self._converted(value) for name, value in named.items()}
        return self.wrapped(*map(self._converted, inputs), **given)

    def _converted(self, inputs: Tensor) -> Any:
        return inputs.detach().cpu().numpy() if self._numpy else inputs


def takes_numpy(function: Callable[..., Any]) -> bool:
    """True if the first parameter is annotated as a numpy array."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:  # a built-in function without a signature
        return False
    return first is not None and "ndarray" in str(first.annotation)


def _wrapped(found: object) -> Subject | None:
    return of_module(Function(found)) if callable(found) else None


FUNCTION = SubjectKind("function of a batch", wrap=_wrapped, twins=TORCH_TWINS, family="torch")

"""Whether modules of a model train or answer, left as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def in_its_mode(*found: object) -> Iterator[None]:
    """Gives modules of torch their modes back in the end; all else is left alone."""
    modules = [part for one in found if isinstance(one, nn.Module) for part in one.modules()]
    modes = [module.training for module in modules]
    try:
        yield
    finally:
        for module, training in zip(modules, modes, strict=True):
            module.training = training

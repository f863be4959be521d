"""A refusal that comes of a sandbox is told as such, whatever stood between the model and us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jostle.errors import ModelRefused, PreflightFailed
from jostle.foreign import denials


@contextmanager
def blaming_sandbox() -> Iterator[None]:
    """In a sandbox: what is refused while this lasts, after the model was denied something, is the sandbox's doing."""
    denials.clear()
    try:
        yield
    except (ModelRefused, PreflightFailed) as error:
        if denials:
            raise ModelRefused(denials[-1].by_sandbox()) from error
        raise

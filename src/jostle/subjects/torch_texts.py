"""Calling a torch module with texts: as tokens, and with a mask where it takes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from jostle.subjects.tokenizer import TextEncoder

MASK = "attention_mask"


def called_with(module: nn.Module, encoder: TextEncoder | None) -> Callable[[Tensor], Any]:
    """How the module runs on inputs [batch, ...], which are texts where there is an encoder."""
    if encoder is None:
        return module
    masked = MASK in inspect.signature(module.forward).parameters

    def call(codes: Tensor) -> Any:
        tokens, mask = encoder.tokens(codes)
        return module(tokens, **{MASK: mask}) if masked else module(tokens)

    return call

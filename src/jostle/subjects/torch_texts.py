"""How texts reach a torch module: as tokens, and with a mask where it takes one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.code_points import as_texts
from jostle.subjects.tokenizer import TextEncoder
from jostle.subjects.torch_arguments import Call, Parameters

MASK = "attention_mask"


@dataclass(frozen=True)
class TextArguments:
    """Tokens that the encoder makes of texts, and which of them are no padding, if the module asks for that."""

    encoder: TextEncoder
    masked: bool

    @staticmethod
    def fitting(encoder: TextEncoder, parameters: Parameters) -> TextArguments:
        return TextArguments(encoder, MASK in parameters.names)

    def of(self, rows: Tensor, dtype: torch.dtype) -> Call:
        """The arguments for rows of code points [batch, width]."""
        tokens, mask = self.encoder.tokens(rows)
        return (tokens,), {MASK: mask} if self.masked else {}

    def seen(self, rows: Tensor) -> list[str]:
        """The texts."""
        return as_texts(rows)

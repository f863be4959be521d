"""How texts reach a model: as tokens, and with a mask where it takes one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.code_points import as_texts
from jostle.subjects.arguments import Call, Parameters
from jostle.subjects.tokenizer import TextEncoder

MASK = "attention_mask"


@dataclass(frozen=True)
class TextArguments:
    """Tokens that the encoder makes of texts, and which of them are no padding, if the model asks for that."""

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

"""Texts as rows of whole numbers, a Unicode code point each, with zeros behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

NO_CHARACTER = 0  # fills rows up; no text holds it
UNICODE = 0x110000  # code points


def as_code_points(texts: Sequence[str], width: int) -> Tensor:
    """[texts, width], of which none may be longer."""
    rows = np.zeros((len(texts), width), dtype=np.int64)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    return torch.from_numpy(rows)


def as_texts(codes: Tensor) -> list[str]:
    """The texts of rows [batch, width]; what is no character becomes the sign that stands for such."""
    batch, width = codes.shape
    together = codes.cpu().numpy().astype("<u4").tobytes().decode("utf-32-le", errors="replace")
    lengths = (codes != NO_CHARACTER).sum(1).tolist()
    return [together[row * width : row * width + lengths[row]] for row in range(batch)]

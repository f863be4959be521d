"""What makes tokens of texts: a tokenizer's file, a function, or UTF-8 itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.code_points import as_texts
from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.named_objects import find_object, names_object
from jostle.untrusted.files import read_bounded
from jostle.untrusted.json_text import check_values

UTF8 = "bytes"
LARGEST = 128 * 2**20  # bytes of a tokenizer.json; those of vocabularies of 250,000 tokens have 35 million
PADDING = ("[PAD]", "<pad>", "<PAD>", "<|endoftext|>")  # what tokenizers call it, if their file does not say
FIX = "give a tokenizer.json, FILE.py:function of a text, or bytes"


@dataclass(frozen=True)
class TextEncoder:
    """Texts as rows of tokens of one length: longer ones are cut, shorter ones padded."""

    encode: Callable[[list[str]], Sequence[Sequence[int]]]
    length: int
    pad: int

    def tokens(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens of rows of code points [batch, width] and which of them are no padding, both [batch, length]."""
        encoded = [list(row)[: self.length] for row in self.encode(as_texts(codes))]
        rows = torch.tensor([[*row, *[self.pad] * (self.length - len(row))] for row in encoded], dtype=torch.int64)
        lengths = torch.tensor([len(row) for row in encoded])
        mask = (torch.arange(self.length) < lengths[:, None]).long()
        return rows.view(len(codes), self.length).to(codes.device), mask.to(codes.device)


def load_tokenizer(spec: str, length: int, pad: int | None) -> TextEncoder:
    """The tokenizer behind `bytes`, `FILE.py:function` of a text, or a tokenizer.json."""
    if spec == UTF8:
        return TextEncoder(lambda texts: [text.encode() for text in texts], length, pad or 0)
    if names_object(spec):
        function = find_object(spec)
        if not callable(function):
            raise UsageError(f"--tokenizer {spec} is a {type(function).__name__}: {FIX}")
        return TextEncoder(lambda texts: [_whole(function(text)) for text in texts], length, pad or 0)
    return _from_file(Path(spec), length, pad)


def _whole(returned: Any) -> list[int]:
    """What a user's function gives for one text."""
    values = returned.tolist() if hasattr(returned, "tolist") else returned
    if not isinstance(values, list | tuple) or not all(isinstance(value, int) for value in values):
        raise ValueError("--tokenizer must return a list of whole numbers for a text")
    return list(values)


def _from_file(path: Path, length: int, pad: int | None) -> TextEncoder:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise UsageError("--tokenizer with a file needs a package: pip install 'jostle[text]'") from error
    tokenizer = attempt(partial(_opened, Tokenizer, path))
    if isinstance(tokenizer, Crash):
        raise UsageError(f"--tokenizer {path} is no tokenizer ({tokenizer.message or tokenizer.error}): {FIX}")
    known = (tokenizer.padding or {}).get("pad_id")
    named = next((tokenizer.token_to_id(name) for name in PADDING if tokenizer.token_to_id(name) is not None), 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)  # which keeps the special tokens at the ends
    chosen = pad if pad is not None else known if known is not None else named
    return TextEncoder(lambda texts: [row.ids for row in tokenizer.encode_batch_fast(texts)], length, chosen)


def _opened(kind: Any, path: Path) -> Any:
    content = read_bounded(path, LARGEST)
    check_values(content)
    return kind.from_str(content.decode("utf-8"))

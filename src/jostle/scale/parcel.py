"""What travels between a campaign and its workers: plain values and named arrays, and never a pickled object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError
from torch import Tensor

from jostle.untrusted.json_text import parsed_json

FIELDS = "fields"  # the array that holds the plain values as JSON


@dataclass(frozen=True)
class Parcel:
    """One message."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Tensor] = field(default_factory=dict)

    def encoded(self) -> bytes:
        arrays = {name: _storable(array).contiguous().numpy() for name, array in self.arrays.items()}
        text = json.dumps(dict(self.fields)).encode()
        return safetensors.numpy.save({**arrays, FIELDS: np.frombuffer(text, np.uint8)})

    @staticmethod
    def decoded(content: bytes) -> Parcel:
        """The inverse of `encoded`; ValueError for bytes that it never gave."""
        try:
            arrays = safetensors.numpy.load(content)
            fields = parsed_json(arrays.pop(FIELDS).tobytes())
        except (SafetensorError, KeyError) as error:
            raise ValueError(f"no message of a campaign ({error})") from error
        return Parcel(fields, {name: torch.from_numpy(array) for name, array in arrays.items()})


def _storable(array: Tensor) -> Tensor:
    return array.float() if array.dtype is torch.bfloat16 else array  # which numpy does not have

"""Arrays as numpy writes them: without Python objects, and as large as their header says; ValueError where not."""

from __future__ import annotations

import math
from typing import IO, Any

import numpy as np


def read_array(file: IO[bytes], size: int, name: str = "it") -> np.ndarray[Any, Any]:
    """The array in so many bytes; numpy would set aside what the header asks for before it looks."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"{name[:100]} claims shape {str(list(shape))[:100]}, which is not what it holds")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)

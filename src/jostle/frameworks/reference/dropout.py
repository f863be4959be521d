"""Formulas of dropout by the kernels of a library, which are the same whatever mask is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.operators.dropout import middle
from jostle.frameworks.reference.numbers import Formula, plain


def downscaled(call: Call, x: Tensor) -> Tensor:
    return x * (1 - float(call.attributes["rate"]))


def distance(call: Call, x: Tensor) -> Tensor:
    return torch.square(x * middle(call.attributes))


DROPOUT: Mapping[str, Formula] = {
    "dropout_identity": plain(lambda x: x * 1),
    "dropout_all": plain(lambda x: x * 0),
    "dropout_downscaled": downscaled,
    "dropout_distance": distance,
    "dropout_share": plain(lambda x: torch.tensor(True)),
}

"""Torch modules compiled by torch.compile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.subjects.arguments import Call

# Without a pool of processes that would outlive what they compile for.
ALONE: dict[str, Any] = {"compile_threads": 1}


class Compiled(nn.Module):
    """A module compiled by Inductor for batches of any size."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module
        self._compiled = torch.compile(module, options=ALONE)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        for value in (*inputs, *named.values()):
            torch._dynamo.maybe_mark_dynamic(value, 0)
        return self._compiled(*inputs, **named)


def compiled(module: nn.Module, sample: Call) -> nn.Module:
    """Compiled by torch.compile (Inductor), for batches such as the sample [batch, ...] at once."""
    if isinstance(module, torch.jit.ScriptModule):
        raise ModelRefused(
            "--twin compile cannot be made of TorchScript, which torch.compile leaves as it is: give the module as "
            "FILE.py:function"
        )
    twin = Compiled(module.eval())
    with torch._inductor.config.patch(ALONE), torch.no_grad():
        for rows in (slice(None), slice(1)):  # one row alone is compiled for itself
            twin(*(value[rows].clone() for value in sample[0]), **{k: v[rows].clone() for k, v in sample[1].items()})
    return twin

"""Torch modules compiled by torch.compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.foreign import Crash, FailedElsewhere, attempt
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


def compiled(module: nn.Module, calls: Sequence[Call]) -> nn.Module:
    """The module compiled by torch.compile (Inductor), at once for batches of these sizes.

    It need not accept all of them; if it fails on each, FailedElsewhere says how on the first.
    """
    if isinstance(module, torch.jit.ScriptModule):
        raise ModelRefused(
            "--twin compile cannot be made of TorchScript, which torch.compile leaves as it is: give the module as "
            "FILE.py:function"
        )
    twin = Compiled(module.eval())
    with torch._inductor.config.patch(ALONE), torch.no_grad():
        tried = [attempt(lambda: twin(*positional, **named)) for positional, named in calls]
    crashes = [one for one in tried if isinstance(one, Crash)]
    if len(crashes) == len(tried):
        raise FailedElsewhere(crashes[0])
    return twin

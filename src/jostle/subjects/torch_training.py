"""Training a torch module further, and saving it."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from jostle.errors import ModelRefused, OutputRefused
from jostle.foreign import Crash, attempt
from jostle.scores import are_probabilities
from jostle.subjects.arguments import Call
from jostle.subjects.silence import silenced
from jostle.subjects.torch_export import for_any_batch
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.values import first_tensor


class TorchTrainable:
    """A module that is the caller's own to train."""

    suffixes = (".safetensors", ".pt2")

    def __init__(self, module: nn.Module, target: TorchTarget):
        self.target = target
        self._module = module

    def train(self, batches: Iterable[tuple[Tensor, Tensor]], rate: float) -> None:
        weights = [weight for weight in self._module.parameters() if weight.requires_grad]
        if not weights:
            raise ModelRefused("the model has no weights that can be trained: name one that has with --model")
        optimiser = torch.optim.Adam(weights, rate)
        self._module.train()
        for step, (inputs, labels) in enumerate(batches):
            positional, named = self.target.prepared(inputs)
            scores = first_tensor(self._module(*positional, **named))
            if scores is None:
                raise ModelRefused("the model gives no scores in training: name one that does with --model")
            optimiser.zero_grad()
            remaining = loss(scores, labels.to(scores.device))
            _check_finite(remaining, step, rate)
            remaining.backward()
            optimiser.step()
        for weight in weights:
            _check_finite(weight, None, rate)
        self._module.eval()

    def saved(self, suffix: str, sample: Tensor) -> bytes:
        """The weights, or the whole model as an exported program."""
        if suffix == ".safetensors":
            state = {name: value.detach().clone().contiguous() for name, value in self._module.state_dict().items()}
            return safetensors.torch.save(state)
        exported = attempt(lambda: _exported(self._module.eval(), self.target.prepared(sample)))
        if isinstance(exported, Crash):
            raise OutputRefused(
                f"the model cannot be exported ({exported.error}: {exported.message}): save as .safetensors"
            )
        return exported


def loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, of probabilities too where a model ends in softmax."""
    if are_probabilities(scores.detach()).all():
        return functional.nll_loss(scores.clamp(min=1e-12).log(), labels)
    return functional.cross_entropy(scores, labels)


def _check_finite(values: Tensor, step: int | None, rate: float) -> None:
    """Refuses a loss before this step, or weights in the end, with which training cannot go on."""
    if values.isfinite().all():
        return
    if step == 0:
        raise ModelRefused("the model's loss on --data is not finite before any training: mend the model or the data")
    when = "in its last step" if step is None else f"after step {step}"
    raise ModelRefused(f"training diverged {when}, and nothing is saved: give a --rate below {rate:g}")


def _exported(module: nn.Module, row: Call) -> bytes:
    content = BytesIO()
    with silenced():
        torch.export.save(for_any_batch(module, row), content)
    return content.getvalue()

"""A torch module as a target."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from jostle.options.campaign import CHANNEL_MEANS
from jostle.records import MODEL, Candidates, Linearised, Outcome, Trace
from jostle.subjects.arguments import Arguments, Call
from jostle.subjects.preparation import Normalisation, answer_of, observed, scores_of
from jostle.subjects.subject import Metadata
from jostle.subjects.torch_arguments import called
from jostle.subjects.torch_embedding import lookups
from jostle.subjects.torch_probes import REDUCTIONS, Probes, channel_means, every_unit
from jostle.subjects.values import named_tensors, one_row_each

UNWATCHED = Probes(nn.Identity(), (), channel_means)


class TorchTarget:
    """Runs a module in eval mode on inputs in the user's value range; what it raises, this raises."""

    def __init__(
        self,
        module: nn.Module,
        watch: Sequence[str] = (),
        units: str = CHANNEL_MEANS,
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
        metadata: Metadata | None = None,
        gradients: bool = False,
        extremes: bool = False,
        scores: str | None = None,
        output: str | None = None,
        arguments: Arguments | None = None,
    ):
        """`scores` names the layer that gives class scores, where the model itself ends in softmax.

        `output` names the tensor that carries the answer, where the model returns several; `arguments` tell how
        inputs reach the module that are not one tensor to it.
        """
        self._module = module.eval()
        weights = next((p for p in module.parameters() if p.is_floating_point()), torch.empty(0))
        self._device, self.dtype = weights.device, weights.dtype
        self._normalisation = Normalisation(mean, std, torch.empty(0, device=self._device, dtype=self.dtype))
        self._metadata = metadata
        self._gradients, self._extremes = gradients, extremes
        self._output, self._arguments = output, arguments
        self._probes = Probes(module, watch, REDUCTIONS[units], extremes)
        self._graph_probes = Probes(module, watch, REDUCTIONS[units])
        self._extreme_probes = Probes(module, watch, REDUCTIONS[units], extremes=True)
        self._scores = Probes(module, [] if scores is None else [scores], every_unit)

    def predict(self, inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return self._forward(self.own(inputs))[0].detach().cpu()  # the model may have enabled gradients

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        inputs = self.own(batch.inputs)
        with (self._probes if watched else UNWATCHED).watching() as seen, torch.set_grad_enabled(self._gradients):
            started = time.perf_counter()
            own = inputs.requires_grad_() if self._gradients else inputs
            outputs, others = self._forward(own if self._metadata is None else own.clone())  # it may change
            seconds = time.perf_counter() - started
            metadata = self._observe(inputs, outputs, batch.labels)
        return Trace(
            outcome=torch.full((len(batch),), Outcome.OK, device="cpu"),  # whatever the model made the default
            outputs=_copied({MODEL: outputs}),  # a model may answer in room that it uses again
            others=_copied(others),
            activations=seen.activations,
            extremes=seen.extremes,
            metadata=metadata,
            seconds={MODEL: seconds},
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        own = self.own(inputs)
        probes = self._extreme_probes if extremes or self._extremes else self._graph_probes
        with torch.enable_grad(), probes.watching(True) as seen, self._scores.watching(True) as last:
            started = time.perf_counter()
            outputs, others, by = self._differentiably(own)
            seconds = time.perf_counter() - started
        scores = {MODEL: scores_of(outputs, next(reversed(last.activations.values()), outputs))}

        def pull(score_weights: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> Tensor:
            sums = [(scores[name], weight) for name, weight in score_weights.items()]
            ran = seen.activations
            sums += [(ran[name], weight) for name, weight in weights.items() if name in ran]
            return _pulled(sums, by).cpu()

        activations = _detached(seen.activations)
        trace = Trace(
            outcome=torch.full((len(inputs),), Outcome.OK, device="cpu"),  # whatever the model made the default
            outputs=_detached({MODEL: outputs}),
            others=_detached(others),
            activations=activations,
            extremes=seen.extremes if self._extremes else {},
            seconds={MODEL: seconds},
        )
        return Linearised(
            _detached(scores),
            activations,
            seen.extremes if extremes else {},
            pull,
            seen.entered if extremes else {},
            trace if self._metadata is None else None,
        )

    def prepared(self, inputs: Tensor) -> Call:
        """What the module is given for inputs in the user's value range: on its device, normalised."""
        own = self._normalisation.of(self.own(inputs))
        return ((own,), {}) if self._arguments is None else self._arguments.of(own, self.dtype)

    def _differentiably(self, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """All outputs, and what they are differentiated by: the inputs, or of tokens what the embedding gives."""
        if inputs.is_floating_point():
            return *self._forward(inputs.requires_grad_().clone()), inputs  # which a model may change in place
        with lookups(self._module, inputs) as seen:
            outputs, others = self._forward(inputs.clone())
        if seen.output is None:
            raise ValueError("the model has no torch.nn.Embedding that is given the tokens")
        return outputs, others, seen.output

    def own(self, inputs: Tensor) -> Tensor:
        """A copy, because a model may work in place: in its precision, but for tokens, which are int64."""
        whole = inputs.dtype == torch.int64 or self._arguments is not None  # several inputs are narrowed one by one
        return inputs.to(self._device, None if whole else self.dtype, copy=True)

    def _forward(self, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The output that carries the answer, and all others that have one row per input."""
        return answer_of(self.outputs(inputs), len(inputs), self._output)

    def outputs(self, inputs: Tensor) -> dict[str, Tensor]:
        """Every tensor that the module returns, by name."""
        returned = called(self._module, self._normalisation.of(inputs), self._arguments, self.dtype)
        return named_tensors(one_row_each(returned, len(inputs)))

    def _observe(self, inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """The user's values for this batch and, if asked for, their gradients with respect to the input."""
        if self._metadata is None:
            return {}
        seen = inputs if self._arguments is None else self._arguments.seen(inputs)
        values = observed(self._metadata, seen, outputs, labels.to(self._device))
        if self._gradients:
            gradients = {
                f"{name}.grad": _gradient(value, inputs) for name, value in values.items() if value.requires_grad
            }
            if not gradients:
                raise ValueError("--gradients: no metadata value depends on the input")
            values |= gradients
        return {name: value.detach().cpu() for name, value in values.items()}


def _detached(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu() for name, value in values.items()}


def _copied(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().to("cpu", copy=True) for name, value in values.items()}


def _pulled(sums: Sequence[tuple[Tensor, Tensor]], inputs: Tensor) -> Tensor:
    """The gradient of a sum of values by weights, row by row; what does not depend on the inputs adds nothing."""
    parts = [(value, weight.to(value)) for value, weight in sums if value.requires_grad]
    if not parts:
        raise ValueError("nothing that the model computes can be differentiated by its inputs")
    values, weights = zip(*parts, strict=True)
    (gradient,) = torch.autograd.grad(values, inputs, weights, allow_unused=True)
    return torch.zeros_like(inputs) if gradient is None else gradient


def _gradient(value: Tensor, inputs: Tensor) -> Tensor:
    """d value / d input, row by row: rows do not mix, so the gradient of the sum holds all of them."""
    (gradient,) = torch.autograd.grad(value.sum(), inputs, retain_graph=True)
    return gradient.flatten(1)

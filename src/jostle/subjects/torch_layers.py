"""Which layers a torch module has, in the order they run, and how strong the weights into them are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.ao.nn.quantized.modules.linear import LinearPackedParams
from torch.utils.hooks import RemovableHandle

from jostle.foreign import Crash, attempt
from jostle.subjects.arguments import Arguments
from jostle.subjects.layers import Layer
from jostle.subjects.torch_arguments import called
from jostle.subjects.torch_dataflow import Dataflow, activates
from jostle.subjects.values import first_tensor

# Layers that pass on what another computed as it is.
SILENT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.Flatten, nn.Unflatten, nn.Identity)
RESHAPING = {"flatten", "unflatten", "view", "reshape", "dropout", "alias", "clone"}  # operators of such layers
# Layers that pass on, clip or reshape what another layer computed: never the first to hold NaN or infinity.
PASSIVE = (*SILENT, nn.ReLU, nn.ReLU6, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)


def layers_of(
    module: nn.Module, sample: Tensor, arguments: Arguments | None = None, dtype: torch.dtype = torch.float32
) -> list[Layer]:
    """The leaf modules that run on the sample [batch, ...], in order of their first call."""
    followed = attempt(partial(_layers_run, module, sample, arguments, dtype, Dataflow()))
    # Where operators cannot be followed, nothing is known of what is handed on; what the model raises, it raises again.
    return _layers_run(module, sample, arguments, dtype, None) if isinstance(followed, Crash) else followed


def _layers_run(
    module: nn.Module, sample: Tensor, arguments: Arguments | None, dtype: torch.dtype, dataflow: Dataflow | None
) -> list[Layer]:
    """The same, with what each of them hands on where the dataflow is followed."""
    found: dict[str, Layer] = {}

    def note(name: str, child: nn.Module, output: object) -> None:
        value = first_tensor(output)
        if value is not None and value.is_floating_point() and value.shape[:1] == sample.shape[:1]:
            found.setdefault(name, replace(_layer(name, child), shape=tuple(value.shape[1:])))

    leaves = {
        name: child
        for name, child in module.named_modules()
        if name and _is_leaf(child) and not isinstance(child, torch.jit.ScriptModule)  # which takes no hooks
    }
    hooks = [
        child.register_forward_hook(lambda child, _, output, name=name: note(name, child, output))
        for name, child in leaves.items()
    ]
    if dataflow is not None:
        hooks += [hook for name, child in leaves.items() for hook in _followed(dataflow, name, child)]
    try:
        with torch.no_grad(), dataflow or nullcontext():
            returned = called(module, sample, arguments, dtype)
    finally:
        for hook in hooks:
            hook.remove()
    handed_on = set() if dataflow is None else dataflow.handed_on(returned)
    return [replace(layer, handed_on=name in handed_on) for name, layer in found.items()]


def _followed(dataflow: Dataflow, name: str, leaf: nn.Module) -> Iterator[RemovableHandle]:
    """Hooks that tell when a layer runs."""
    activation = activates(stands_for(leaf), _operators(leaf))
    yield leaf.register_forward_pre_hook(lambda leaf, _: dataflow.begin(name, activation))
    yield leaf.register_forward_hook(lambda leaf, _, output: dataflow.end(output), always_call=True)


def _is_leaf(module: nn.Module) -> bool:
    """Whether it holds no modules but the weights of a quantised layer, which are a module that never runs."""
    return all(isinstance(child, LinearPackedParams) for child in module.children())


def _layer(name: str, module: nn.Module) -> Layer:
    kind, operators = stands_for(module), set(_operators(module))
    silent = issubclass(kind, SILENT) or (bool(operators) and operators <= RESHAPING)
    return Layer(name, is_softmax(module), silent or issubclass(kind, PASSIVE), silent)


def stands_for(module: nn.Module) -> type:
    """The kind of layer: of a part of a scripted module, the one that it was scripted from."""
    kind: type = getattr(module, "stands_for", type(module))
    return kind


def is_softmax(module: nn.Module) -> bool:
    """True of softmax layers, also of those that an exported program holds as a small graph."""
    if issubclass(stands_for(module), nn.Softmax | nn.LogSoftmax | nn.Softmax2d):
        return True
    calls = _operators(module)
    return bool(calls) and all("softmax" in call for call in calls)


def _operators(module: nn.Module) -> list[str]:
    """The operators that a layer of an exported program calls, such as `relu`; nothing of other layers."""
    graph = getattr(module, "graph", None)
    nodes = graph.nodes if isinstance(graph, torch.fx.Graph) else ()
    calls = (str(node.target) for node in nodes if node.op == "call_function")
    return [call.removeprefix("aten.").split(".")[0] for call in calls]  # of `aten.relu.default`


def incoming_weights(module: nn.Module, layers: Sequence[Layer]) -> dict[str, Tensor]:
    """How strong the weights into each neuron of each layer are, on average [neurons].

    A layer without weights passes on what the one before it computed, so its neurons are as strong as those.
    """
    strengths: dict[str, Tensor] = {}
    latest = torch.empty(0)
    for layer in layers:
        weight = getattr(module.get_submodule(layer.name), "weight", None)
        if isinstance(weight, Tensor) and weight.ndim > 1:
            latest = weight.detach().abs().flatten(1).mean(1).float().cpu()
        strengths[layer.name] = latest
    return strengths

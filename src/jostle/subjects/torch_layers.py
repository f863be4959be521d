"""Which layers a torch module has, in the order they run, and how strong the weights into them are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.ao.nn.quantized.modules.linear import LinearPackedParams

from jostle.subjects.arguments import Arguments
from jostle.subjects.layers import Layer
from jostle.subjects.torch_arguments import called
from jostle.subjects.values import first_tensor

# Layers that pass on what another computed as it is.
SILENT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.Flatten, nn.Unflatten, nn.Identity)
# Layers that pass on, clip or reshape what another layer computed: never the first to hold NaN or infinity.
PASSIVE = (*SILENT, nn.ReLU, nn.ReLU6, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)


def layers_of(
    module: nn.Module, sample: Tensor, arguments: Arguments | None = None, dtype: torch.dtype = torch.float32
) -> list[Layer]:
    """The leaf modules that run on the sample [batch, ...], in order of their first call."""
    found: dict[str, Layer] = {}

    def note(name: str, child: nn.Module, output: object) -> None:
        value = first_tensor(output)
        if value is not None and value.is_floating_point() and value.shape[:1] == sample.shape[:1]:
            found.setdefault(name, replace(_layer(name, child), shape=tuple(value.shape[1:])))

    hooks = [
        child.register_forward_hook(lambda child, _, output, name=name: note(name, child, output))
        for name, child in module.named_modules()
        if name and _is_leaf(child) and not isinstance(child, torch.jit.ScriptModule)  # which takes no hooks
    ]
    try:
        with torch.no_grad():
            called(module, sample, arguments, dtype)
    finally:
        for hook in hooks:
            hook.remove()
    return list(found.values())


def _is_leaf(module: nn.Module) -> bool:
    """Whether it holds no modules but the weights of a quantised layer, which are a module that never runs."""
    return all(isinstance(child, LinearPackedParams) for child in module.children())


def _layer(name: str, module: nn.Module) -> Layer:
    kind = stands_for(module)
    return Layer(name, is_softmax(module), issubclass(kind, PASSIVE), issubclass(kind, SILENT))


def stands_for(module: nn.Module) -> type:
    """The kind of layer: of a part of a scripted module, the one that it was scripted from."""
    kind: type = getattr(module, "stands_for", type(module))
    return kind


def is_softmax(module: nn.Module) -> bool:
    """True of softmax layers, also of those that an exported program holds as a small graph."""
    if issubclass(stands_for(module), nn.Softmax | nn.LogSoftmax | nn.Softmax2d):
        return True
    graph = getattr(module, "graph", None)
    calls = [str(node.target) for node in graph.nodes if node.op == "call_function"] if graph is not None else []
    return bool(calls) and all("softmax" in call for call in calls)


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

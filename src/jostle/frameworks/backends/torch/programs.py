"""Programs of torch: eager, through its compiler's graphs, and through Inductor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jostle.frameworks.backends.onnx.limits import refuse_onnxruntime
from jostle.frameworks.backends.program import (
    GRADIENT,
    INDENT,
    PHASES,
    PREDICT,
    TRAIN,
    Call,
    Expression,
    Unsupported,
    calls,
    differentiated,
    float_outputs,
    literal,
    require_gradients,
    seeding,
)
from jostle.frameworks.backends.torch.activations import ACTIVATIONS
from jostle.frameworks.backends.torch.arithmetic import ARITHMETIC
from jostle.frameworks.backends.torch.convolutions import CONVOLUTIONS
from jostle.frameworks.backends.torch.dropout import DROPOUT
from jostle.frameworks.backends.torch.elementwise import ELEMENTWISE
from jostle.frameworks.backends.torch.indexing import INDEXING
from jostle.frameworks.backends.torch.layers import LAYERS
from jostle.frameworks.backends.torch.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.torch.normalisation import NORMALISATION, batch_norm_by_hand
from jostle.frameworks.backends.torch.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.torch.pooling import POOLING
from jostle.frameworks.backends.torch.quantization import QUANTIZATION
from jostle.frameworks.backends.torch.recurrent import RECURRENT
from jostle.frameworks.backends.torch.reductions import REDUCTIONS
from jostle.frameworks.backends.torch.sampling import SAMPLING
from jostle.frameworks.backends.torch.selection import SELECTION
from jostle.frameworks.backends.torch.shaping import SHAPING
from jostle.frameworks.backends.torch.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.torch.statistics import STATISTICS
from jostle.frameworks.backends.torch.styles import styled
from jostle.frameworks.backends.torch.training import training_lines
from jostle.frameworks.backends.torch.windows import WINDOWS
from jostle.frameworks.graph import PARAMETER, Graph, Leaf
from jostle.frameworks.operators.dropout import BY_CHANCE

EXPRESSIONS = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
    **DROPOUT,
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
    **SELECTION,
    **PLAIN_NORMALISATION,
    **WINDOWS,
    **RECURRENT,
}
# Of fake_quantize, torch documents the gradient of what is not quantized.
WITHOUT_GRADIENT = {"heaviside", "fake_quantize"}
CHANNELS_LAST = {4: "torch.channels_last", 5: "torch.channels_last_3d"}


@dataclass(frozen=True)
class TorchLowering:
    """One way of running torch: as it is, or compiled by a call."""

    name: str
    compiled: str = ""  # the call that makes another `model` of it
    exported: bool = False  # which is one of `Module()` and what it is given
    gives_tuple: bool = False  # that model, also of one output
    refuse: Callable[[Graph], None] = lambda graph: None  # raises Unsupported for what it has not
    phases: tuple[str, ...] = PHASES
    extra: str = ""
    module: str = "torch"
    packages: tuple[str, ...] = ("torch", "numpy")

    def program(self, graph: Graph, phase: str) -> str:
        if phase not in self.phases:
            raise Unsupported(f"has no phase {phase}")
        self.refuse(graph)
        if phase != PREDICT:
            require_gradients(graph, WITHOUT_GRADIENT)
        lines = ["import torch", "import torch.nn.functional as F", "", ""]
        trained = {GRADIENT: differentiated(graph), TRAIN: trainable(graph)}.get(phase, [])
        lines += [*_model(graph, followed(graph, trained)), "", "", *_tensors(graph, phase, trained)]
        if self.exported:
            lines += ["", "", "class Module(torch.nn.Module):", f"{INDENT}forward = staticmethod(model)", "", ""]
        if self.compiled:
            lines.append(f"model = {self.compiled.format(given=', '.join(graph.leaves))}")
        lines += seeding(graph, "torch.manual_seed")
        call = _call(graph, self.gives_tuple)
        lines += {PREDICT: _prediction, GRADIENT: _gradient, TRAIN: _training}[phase](graph, call)
        return "\n".join(lines) + "\n"


def _refuse_for_onnx(graph: Graph) -> None:
    """What the exporter says in words only that it has nothing for, or ONNX Runtime."""
    refuse_onnxruntime(graph)
    for call in calls(graph):
        operator, rank = call.node.operator, call.types[0].rank
        if operator in (*BY_CHANCE, "dropout_all"):
            raise Unsupported("runs what it exports by an ONNX Runtime that removes dropout in training")
        if operator in ("cumprod", "cummax", "attention") or (operator == "adaptive_avg_pool" and rank == 5):
            raise Unsupported(f"exports no {operator} of rank {rank}")


EAGER = TorchLowering("torch")
AOT = TorchLowering("torch-aot", 'torch.compile(model, backend="aot_eager_decomp_partition")')
INDUCTOR = TorchLowering("torch-inductor", "torch.compile(model)")
EXPORT = TorchLowering(
    "torch-export", "torch.export.export(Module().eval(), ({given},)).module()", exported=True, phases=(PREDICT,)
)
ONNX = TorchLowering(
    "torch-onnx",
    "torch.onnx.export(Module().eval(), ({given},), dynamo=True, verbose=False)",
    exported=True,
    gives_tuple=True,
    refuse=_refuse_for_onnx,
    phases=(PREDICT,),
    extra="onnx",
    module="onnxscript",
    packages=("torch", "onnx", "onnxscript", "onnxruntime"),
)


def _model(graph: Graph, followed_to: set[str]) -> list[str]:
    body = [line for call in calls(graph) for line in styled(call, _expressions(call, followed_to))]
    return [
        f"def model({', '.join(graph.leaves)}):",
        *(INDENT + line for line in (*body, f"return {', '.join(graph.outputs)}")),
    ]


def _expressions(call: Call, followed_to: set[str]) -> Mapping[str, Expression]:
    if call.node.operator == "batch_norm" and followed_to.intersection(call.node.inputs[3:]):
        return {"batch_norm": batch_norm_by_hand}
    return EXPRESSIONS


def _call(graph: Graph, gives_tuple: bool) -> str:
    outputs = ", ".join(graph.outputs)
    return f"{f'[{outputs}]' if gives_tuple else outputs} = model({', '.join(graph.leaves)})"


def _tensors(graph: Graph, phase: str, trained: Sequence[str]) -> Iterator[str]:
    """Leaves as tensors that lie in memory as they say; those that gradients are taken of require them."""
    for name, leaf in graph.leaves.items():
        # what is trained is written to, which torch refuses where elements share their memory
        plain = phase == TRAIN and name in trained and leaf.layout == "expanded"
        text = f"torch.tensor({name})" if plain else _laid_out(name, leaf)
        yield f"{name} = {text}" + (".requires_grad_()" if name in trained else "")


def trainable(graph: Graph) -> list[str]:
    return [name for name in graph.named(PARAMETER) if graph.leaves[name].type.is_float]


def _laid_out(name: str, leaf: Leaf) -> str:
    rank, tensor = leaf.type.rank, f"torch.tensor({name})"
    if leaf.layout == "channels_last" and rank in CHANNELS_LAST:
        return f"{tensor}.contiguous(memory_format={CHANNELS_LAST[rank]})"
    if leaf.layout == "transposed" and rank > 1:
        return f"{tensor}.mT.contiguous().mT"
    if leaf.layout == "strided" and rank > 0:
        return f"{tensor}.repeat_interleave(2, dim=-1)[..., ::2]"
    if leaf.layout == "expanded":
        return _expanded(name, leaf)
    return tensor


def _expanded(name: str, leaf: Leaf) -> str:
    """One slice, repeated by a stride of 0 along every axis on which all slices are the same."""
    kept, array = [], leaf.array
    for axis, size in enumerate(leaf.type.shape):
        first = np.take(array, [0], axis) if size > 1 else array
        repeated = size > 1 and np.array_equal(np.broadcast_to(first, array.shape), array, equal_nan=leaf.type.is_float)
        kept.append(":1" if repeated else ":")
    if ":1" not in kept:
        return f"torch.tensor({name})"
    return f"torch.tensor({name}[{', '.join(kept)}]).expand({literal(leaf.type.shape)})"


def _prediction(graph: Graph, call: str) -> list[str]:
    return [call, f"result = {_arrays(graph.outputs)}"]


def _arrays(names: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}.detach().numpy()' for name in dict.fromkeys(names)) + "}"


def followed(graph: Graph, sources: Sequence[str]) -> set[str]:
    """The tensors through which torch follows gradients to these leaves: floats that are computed from them."""
    found = set(sources)
    for call in calls(graph):
        if call.type.is_float and found.intersection(call.node.inputs):
            found.add(call.node.name)
    return found


def _gradient(graph: Graph, call: str) -> list[str]:
    sources = differentiated(graph)
    reached = followed(graph, sources)
    outputs = [name for name in float_outputs(graph) if name in reached]
    lines = [call, f"result = {_arrays(graph.outputs)}"]
    if not outputs:
        return lines + [f'result["d_{name}"] = torch.zeros_like({name}).detach().numpy()' for name in sources]
    cotangents = ", ".join(f"torch.tensor(cotangent_{name})" for name in outputs)
    taken = f"torch.autograd.grad([{', '.join(outputs)}], [{', '.join(sources)}], [{cotangents}]"
    lines.append(f"gradients = {taken}, materialize_grads=True)")
    return lines + [f'result["d_{name}"] = gradients[{at}].numpy()' for at, name in enumerate(sources)]


def _training(graph: Graph, call: str) -> list[str]:
    names = trainable(graph)
    unreached = [name for name in names if graph.outputs[0] not in followed(graph, [name])]
    return [
        *training_lines(graph, names, unreached, call),
        f"result = {_arrays(graph.named(PARAMETER))}",
        'result["loss"] = torch.stack(losses).numpy()',
    ]

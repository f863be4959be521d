"""Programs that torch.export saved (`.pt2`) as subjects."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_unflatten

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.arguments import Parameters
from jostle.subjects.subject import Loading, Subject, SubjectKind, TakenInput
from jostle.subjects.torch_module import TORCH_TWINS, TorchSubject
from jostle.untrusted.exported_program import load_exported


def _load(path: Path, loading: Loading) -> Subject:
    program = load_exported(path)
    inputs = {
        node.name: node.meta["val"]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
    }
    if not inputs or not all(isinstance(value, Tensor) and value.ndim for value in inputs.values()):
        raise ModelRefused(f"{path} takes inputs that are no batches of tensors: export a module that takes these only")
    size = next(iter(inputs.values())).shape[0]
    return TorchSubject(
        _unflattened(path, program),
        lambda: _unflattened(path, load_exported(path)),
        batch=size if isinstance(size, int) else None,
        parameters=_parameters(program, tuple(inputs)),
        taken=tuple(_taken(name, value) for name, value in inputs.items()),
    )


def _taken(name: str, value: Tensor) -> TakenInput:
    sizes = tuple(size if isinstance(size, int) else None for size in value.shape[1:])
    return TakenInput(name, str(value.dtype).removeprefix("torch."), sizes)


def _parameters(program: torch.export.ExportedProgram, names: tuple[str, ...]) -> Parameters:
    """The names in the order of the call that was exported, in which some may have been given by name."""
    positional, named = tree_unflatten(list(names), program.call_spec.in_spec)
    return Parameters(tuple(positional), tuple(named), frozenset((*positional, *named)))


def _unflattened(path: Path, program: torch.export.ExportedProgram) -> nn.Module:
    """Modules with their names again, so that layers can be watched as in the original."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own, about what it does inside
        module = attempt(lambda: torch.export.unflatten(program))
    if isinstance(module, Crash):
        raise ModelRefused(f"{path} loads but gives no module: {module.error}: {module.message}")
    return module


EXPORTED = SubjectKind("exported program", lambda path: path.suffix == ".pt2", _load, twins=TORCH_TWINS, family="torch")

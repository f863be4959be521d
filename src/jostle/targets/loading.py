"""From what the user names to a module: Python functions, exported programs, and pickles by consent only."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from jostle.errors import ModelRefused, UsageError
from jostle.foreign import attempt
from jostle.named_objects import find_object, make_working_folder_importable, names_object
from jostle.records import Crash
from jostle.targets.exported_file import load_exported
from jostle.targets.functions import Function

PICKLED = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"}


@dataclass(frozen=True)
class Model:
    """A module ready to run, and how to get another one that is the caller's own to change."""

    module: nn.Module
    copy: Callable[[], nn.Module]
    batch: int | None = None  # the only batch size it accepts, None for any


def load_model(spec: str, trust: bool = False) -> Model:
    """The model behind `FILE.py:function`, `package.module:function`, a `.pt2` file, or a trusted pickle."""
    if names_object(spec):
        return _python_model(spec)
    path = Path(spec)
    if not path.exists():
        raise ModelRefused(f"model {spec} does not exist: give a .pt2 file or FILE.py:function")
    if path.suffix == ".pt2":
        return _exported_model(path)
    if path.suffix in PICKLED:
        return _pickled_model(path, trust)
    if path.suffix == ".py":
        raise ModelRefused(f"{spec} names no function: add the one that returns the model, {spec}:function")
    raise ModelRefused(f"{spec} is no format that can be fuzzed yet: give a .pt2 file or FILE.py:function")


def _python_model(spec: str) -> Model:
    try:
        found = find_object(spec)
    except UsageError as error:
        raise ModelRefused(str(error)) from error
    if not isinstance(found, nn.Module) and callable(found) and not _required_parameters(found):
        found = attempt(found)
        if isinstance(found, Crash):
            raise ModelRefused(f"{spec} raised {found.error} in {found.where}: {found.message}")
    return _checked(spec, found)


def _checked(spec: str, found: object) -> Model:
    if isinstance(found, nn.Module):
        module = found
    elif callable(found):
        module = Function(found)
    else:
        kind = type(found).__name__
        raise ModelRefused(f"{spec} is a {kind}: it must be a torch module, a function of a batch, or return one")
    return Model(module, lambda: copy.deepcopy(module))


def _required_parameters(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ["inputs"]  # a built-in function without a signature, such as torch.relu
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]


def _exported_model(path: Path) -> Model:
    program = load_exported(path)
    inputs = [
        node.meta["val"]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
    ]
    if len(inputs) != 1:
        raise ModelRefused(f"{path} takes {len(inputs)} inputs: export a module that takes one batch")
    size = inputs[0].shape[0]
    return Model(
        _unflattened(path, program),
        lambda: _unflattened(path, load_exported(path)),
        batch=size if isinstance(size, int) else None,
    )


def _unflattened(path: Path, program: torch.export.ExportedProgram) -> nn.Module:
    """Modules with their names again, so that layers can be watched as in the original."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own, about what it does inside
        module = attempt(lambda: torch.export.unflatten(program))
    if isinstance(module, Crash):
        raise ModelRefused(f"{path} loads but gives no module: {module.error}: {module.message}")
    return module


def _pickled_model(path: Path, trust: bool) -> Model:
    if not trust:
        raise ModelRefused(
            f"{path} is a pickle, which can execute code when it is loaded: export the model with torch.export.save "
            f"to .pt2, give FILE.py:function, or add --trust-model if you trust its origin"
        )
    make_working_folder_importable()  # a pickle names its classes by module
    loaded = attempt(lambda: torch.load(path, map_location="cpu", weights_only=False))
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{path} cannot be loaded: {loaded.error}: {loaded.message}")
    if isinstance(loaded, dict):
        raise ModelRefused(f"{path} holds weights without a model: give FILE.py:function that builds and loads it")
    return _checked(str(path), loaded)

"""From what the user names to a module: Python functions, exported programs, and pickles by consent only."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import torch
from torch import nn

from jostle.errors import ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.named_objects import find_object, make_working_folder_importable, names_object
from jostle.targets.exported_file import load_exported
from jostle.targets.functions import Function
from jostle.targets.weights import fill, read_weights
from jostle.untrusted.files import check_regular

PICKLED = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"}


@dataclass(frozen=True)
class Model:
    """A module ready to run, and how to get another one that is the caller's own to change."""

    module: nn.Module
    copy: Callable[[], nn.Module]
    batch: int | None = None  # the only batch size it accepts, None for any


def load_model(spec: str, trust: bool = False, weights: str | None = None) -> Model:
    """The model behind `FILE.py:function`, `package.module:function`, a `.pt2` file, or a trusted pickle.

    Weights from a file are for a model that Python code builds.
    """
    if names_object(spec):
        return _python_model(spec) if weights is None else _filled(spec, _python_model(spec), Path(weights))
    if weights is not None:
        raise ModelRefused(f"--weights {weights} is for a model given as FILE.py:function: {spec} brings its own")
    path = Path(spec)
    if not path.exists():
        raise ModelRefused(f"model {spec} does not exist: give a .pt2 file or FILE.py:function")
    if path.suffix == ".pt2":
        return _exported_model(path)
    if path.suffix in PICKLED:
        return _pickled_model(path, trust)
    if path.suffix == ".safetensors":
        raise ModelRefused(_weights_alone(path))
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


def _filled(spec: str, model: Model, path: Path) -> Model:
    """The model with weights of its own, so that nothing else that the user's code built changes with it."""
    if isinstance(model.module, Function):
        raise ModelRefused(f"--weights {path} needs a torch module, and {spec} is a function: leave it out")
    module = attempt(model.copy)
    if isinstance(module, Crash):
        raise ModelRefused(f"{spec} cannot be copied to take --weights: {module.error}: {module.message}")
    fill(module, path)
    return _checked(spec, module)


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
    try:
        check_regular(path)
    except ValueError as error:
        raise ModelRefused(f"{path} cannot be loaded: {error}; give a .pt2 file or FILE.py:function") from error
    return _trusted_model(path) if trust else _refused_pickle(path)


def _refused_pickle(path: Path) -> NoReturn:
    if not isinstance(attempt(partial(read_weights, path)), Crash):
        raise ModelRefused(_weights_alone(path))
    raise ModelRefused(
        f"{path} is a pickle, which can execute code when it is loaded: export the model with torch.export.save "
        f"to .pt2, give FILE.py:function, or add --trust-model if you trust its origin"
    )


def _trusted_model(path: Path) -> Model:
    make_working_folder_importable()  # a pickle names its classes by module
    loaded = attempt(lambda: torch.load(path, map_location="cpu", weights_only=False))
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{path} cannot be loaded: {loaded.error}: {loaded.message}")
    if isinstance(loaded, dict):
        raise ModelRefused(_weights_alone(path))
    return _checked(str(path), loaded)


def _weights_alone(path: Path) -> str:
    return f"{path} holds weights without a model: give FILE.py:function that builds it, and --weights {path}"

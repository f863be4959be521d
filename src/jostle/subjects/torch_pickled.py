"""Files of torch.save and of TorchScript as subjects, by consent only: both can do harm when they are loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import torch
from torch import nn

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.named_objects import make_working_folder_importable
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.torch_function import Function
from jostle.subjects.torch_module import TORCH_TWINS, of_module
from jostle.subjects.torch_scripted import of_scripted
from jostle.subjects.torch_weights import read_weights
from jostle.untrusted.files import check_regular

SUFFIXES = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"}
SCRIPTED_SUFFIXES = {".pt", ".pth", ".ts", ".jit", ".torchscript"}
FIX = (
    "export the model with torch.export.save to .pt2, give FILE.py:function, or add --trust-model if you trust its "
    "origin"
)


def is_scripted(path: Path) -> bool:
    """True of an archive of TorchScript, which holds code beside its tensors."""
    if path.suffix not in SCRIPTED_SUFFIXES or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return any("/code/" in name for name in names) and any(name.endswith("/constants.pkl") for name in names)


def _load_scripted(path: Path, loading: Loading) -> Subject:
    _check_regular(path)
    if not loading.trusted:
        raise ModelRefused(f"{path} is TorchScript, whose code can read and write files: {FIX}")
    loaded = attempt(partial(of_scripted, lambda: torch.jit.load(path, map_location="cpu")))
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{path} cannot be loaded: {loaded.error}: {loaded.message}")
    return loaded


def _load_pickled(path: Path, loading: Loading) -> Subject:
    _check_regular(path)
    if not loading.trusted:
        _refuse(path)
    make_working_folder_importable()  # a pickle names its classes by module
    return _found(path, lambda: torch.load(path, map_location="cpu", weights_only=False))


def _check_regular(path: Path) -> None:
    try:
        check_regular(path)
    except ValueError as error:
        raise ModelRefused(f"{path} cannot be loaded: {error}; give a .pt2 file or FILE.py:function") from error


def _refuse(path: Path) -> NoReturn:
    if not isinstance(attempt(partial(read_weights, path)), Crash):
        raise ModelRefused(weights_alone(path))
    raise ModelRefused(f"{path} is a pickle, which can execute code when it is loaded: {FIX}")


def _found(path: Path, load: Callable[[], object]) -> Subject:
    loaded = attempt(load)
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{path} cannot be loaded: {loaded.error}: {loaded.message}")
    if isinstance(loaded, dict):
        raise ModelRefused(weights_alone(path))
    if not callable(loaded):
        kind = type(loaded).__name__
        raise ModelRefused(f"{path} is a {kind}: it must be a torch module, a function of a batch, or return one")
    return of_module(loaded if isinstance(loaded, nn.Module) else Function(loaded))


def weights_alone(path: Path) -> str:
    """What to say of a file of weights that was given as a model."""
    return f"{path} holds weights without a model: give FILE.py:function that builds it, and --weights {path}"


SCRIPTED = SubjectKind("TorchScript", is_scripted, _load_scripted, twins=TORCH_TWINS, family="torch")
PICKLED = SubjectKind(
    "pickled torch module",
    lambda path: path.suffix in SUFFIXES,
    _load_pickled,
    twins=TORCH_TWINS,
    family="torch",
)

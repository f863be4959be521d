"""Weights from a file into a module that the user's own code built; no file of weights is ever trusted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.untrusted.files import check_regular
from jostle.untrusted.tensor_files import opened_named_tensors
from jostle.untrusted.torch_archive import load_plain

TORCH = (".pt", ".pth", ".bin", ".ckpt")
NESTED = ("state_dict", "model")  # where checkpoints keep their weights
NAMED = 3  # names given as examples
FIX = "save the state dict with safetensors.torch.save_file or, since torch 1.6, with torch.save"


def fill(module: nn.Module, path: Path) -> None:
    """Gives the module all weights of the file, if they are exactly those it has; else it is not to be used."""
    state = attempt(partial(read_weights, path))
    if isinstance(state, Crash):
        raise ModelRefused(f"--weights {path} cannot be loaded: {state.message or state.error}; {FIX}")
    unlike = attempt(partial(_unlike, module, state))
    if isinstance(unlike, Crash):
        raise ModelRefused(f"--weights {path} do not fit the model: {unlike.error}: {unlike.message}")
    if unlike:
        raise ModelRefused(f"--weights {path} do not fit the model: {'; '.join(unlike)}")


def read_weights(path: Path) -> Mapping[str, Tensor]:
    """Names and tensors, nothing executed; an error of any kind where the file is anything else."""
    if path.suffix == ".safetensors":
        with opened_named_tensors(path) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if path.suffix not in TORCH:
        raise ValueError(f"give a file that ends in .safetensors, {', '.join(TORCH)}")
    check_regular(path)
    loaded = load_plain(path, path.stat().st_size)
    for key in NESTED:
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not loaded:
        raise ValueError("it holds no state dict")
    for name, value in loaded.items():
        if not isinstance(name, str):  # writing it out may take for ever
            raise ValueError(f"one of its names is no text but of type {type(name).__name__}")
        if not isinstance(value, Tensor):
            raise ValueError(f"its entry {name[:100]!r} is no tensor")
    return loaded


def _unlike(module: nn.Module, state: Mapping[str, Tensor]) -> list[str]:
    """Fills the module; how weights and module differ, nothing if they fit."""
    own = {name: value for name, value in module.state_dict().items() if isinstance(value, Tensor)}
    shared = [name for name in own if name in state]
    shapes = [
        f"{name} {list(state[name].shape)} instead of {list(own[name].shape)}"
        for name in shared
        if state[name].shape != own[name].shape
    ]
    kinds = [
        f"{name} {state[name].dtype} instead of {own[name].dtype}"
        for name in shared
        if _kind(state[name]) != _kind(own[name])
    ]
    if shapes or kinds:
        return [*_some("shapes differ", shapes), *_some("numbers differ in kind", kinds)]
    missing, unexpected = module.load_state_dict(state, strict=False)  # strict is ours, in one line
    return [*_some("missing", missing), *_some("unexpected", unexpected)]


def _kind(tensor: Tensor) -> tuple[bool, bool]:
    return tensor.is_floating_point(), tensor.is_complex()


def _some(what: str, names: list[str]) -> list[str]:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    shown = (name if name.isprintable() else repr(name) for name in (name[:100] for name in names[:NAMED]))
    return [f"{what}: {', '.join(shown)}{more}"] if names else []

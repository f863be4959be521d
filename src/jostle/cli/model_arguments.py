"""What is plain from a command line alone, before torch is imported, which takes seconds: whether it names model files.

A guess may be wrong: then a process was started that nobody needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

IN_PROCESS, HELP = "--no-isolate", {"--help", "-h"}
LOADING_ONE = ("init", "inspect", "coverage", "profile")  # commands that run again in a process of their own
SUFFIXES = {
    *(".onnx", ".keras", ".h5", ".hdf5", ".tflite", ".xml", ".pt2"),
    *(".pt", ".pth", ".ts", ".jit", ".torchscript"),
}
IN_FOLDERS = ("saved_model.pb", "config.json")  # one of which a folder holds that is a model


def needs_worker(arguments: Sequence[str]) -> bool:
    """Whether it will fuzz a model from a file, in a worker."""
    return arguments[:1] == ["fuzz"] and IN_PROCESS not in arguments and _names_file(arguments)


def needs_subprocess(arguments: Sequence[str]) -> bool:
    """Whether it will load the model that it names first from a file, and so run in a process of its own."""
    return bool(arguments) and arguments[0] in LOADING_ONE and _names_file(arguments[:2])


def _names_file(arguments: Sequence[str]) -> bool:
    return not HELP & {*arguments} and any(map(_is_model, arguments[1:]))


def _is_model(argument: str) -> bool:
    path = Path(argument)
    with suppress(OSError):  # a name that no file system takes
        return (path.suffix in SUFFIXES and path.is_file()) or any((path / name).is_file() for name in IN_FOLDERS)
    return False

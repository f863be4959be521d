"""Python objects that the user names as `FILE.py:name` or `package.module:name`."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.held import held_object, was_held


def names_object(spec: str) -> bool:
    """True of `FILE.py:name` and `package.module:name`, false of plain paths."""
    place, colon, name = spec.rpartition(":")
    return bool(colon) and name.isidentifier() and (place.endswith(".py") or _is_dotted(place))


def _is_dotted(place: str) -> bool:
    return all(part.isidentifier() for part in place.split("."))


def find_object(spec: str) -> object:
    """The object of that name; naming a file is consent to execute it."""
    if was_held(spec):
        return held_object(spec)
    place, _, name = spec.rpartition(":")
    module = _module_from_file(Path(place)) if place.endswith(".py") else _imported(place)
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, dir(module), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "check the name after the colon"
        raise UsageError(f"{place} has no {name!r}: {hint}")
    return getattr(module, name)


def code_file(spec: str) -> Path | None:
    """The file that finding this object would execute; None where there is none, or none that can be told.

    Nothing is imported, not even the packages that a module is in.
    """
    place, _, _ = spec.rpartition(":")
    if place.endswith(".py"):
        return Path(place) if Path(place).is_file() else None
    loaded = sys.modules.get(place)
    origin = getattr(loaded, "__file__", None) if loaded is not None else _origin(place)
    return Path(origin) if origin is not None and Path(origin).is_file() else None


def _origin(place: str) -> str | None:
    spec = _module_spec(place, [str(Path.cwd())])
    return None if spec is None or not spec.has_location else spec.origin


def _module_spec(place: str, last: Sequence[str] = ()) -> ModuleSpec | None:
    """That of a module, looked for as importing does it, and last in these folders."""
    parts = place.split(".")
    spec = _found(parts[0], None) or PathFinder.find_spec(parts[0], last)
    for depth in range(2, len(parts) + 1):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = _found(".".join(parts[:depth]), spec.submodule_search_locations)
    return spec


def _found(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
    found = (finder.find_spec(name, path) for finder in finders)
    return next((one for one in found if one is not None), None)


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path} does not exist: check the path before the colon")
    return _executed(path.resolve())


@cache
def _executed(path: Path) -> ModuleType:
    """The module of a file, executed once, so that a model and a property in it share what they define."""
    name = f"jostle_user_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with _own_neighbours(path.parent):
        result = attempt(partial(spec.loader.exec_module, module))
    if isinstance(result, Crash):
        raise UsageError(
            f"{path.name} failed on import in {result.where}: {result.error}: {result.message}; fix the file"
        )
    return module


@contextmanager
def _own_neighbours(folder: Path) -> Iterator[None]:
    """As for a script, files beside it can be imported, and an old and a new version each get their own."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).parent == folder and not name.startswith("jostle_user_"):
                del sys.modules[name]


def _imported(place: str) -> ModuleType:
    make_importable(place)
    module = attempt(partial(importlib.import_module, place))
    if isinstance(module, Crash):
        raise UsageError(
            f"cannot import {place}: {module.error}: {module.message}; give FILE.py:function or install the package"
        )
    return module


def make_importable(place: str) -> None:
    """Makes the working folder importable if a module may lie there.

    For one that lies elsewhere it stays out: a file in it would be imported in place of a library that is missing.
    """
    if place in sys.modules:
        return
    spec = _module_spec(place)
    if spec is None or spec.loader is None:  # a folder elsewhere may have the name of a package here
        make_working_folder_importable()


def make_working_folder_importable() -> None:
    """As for `python -m`; last on the path, so that it hides nothing installed."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))

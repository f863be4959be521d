"""Python objects that the user names as `FILE.py:name` or `package.module:name`."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from jostle.errors import UsageError
from jostle.foreign import attempt
from jostle.records import Crash


def names_object(spec: str) -> bool:
    """True of `FILE.py:name` and `package.module:name`, false of plain paths."""
    place, colon, name = spec.rpartition(":")
    return bool(colon) and name.isidentifier() and (place.endswith(".py") or _is_dotted(place))


def _is_dotted(place: str) -> bool:
    return all(part.isidentifier() for part in place.split("."))


def find_object(spec: str) -> object:
    """The object of that name; naming a file is consent to execute it."""
    place, _, name = spec.rpartition(":")
    module = _module_from_file(Path(place)) if place.endswith(".py") else _imported(place)
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, dir(module), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "check the name after the colon"
        raise UsageError(f"{place} has no {name!r}: {hint}")
    return getattr(module, name)


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path} does not exist: check the path before the colon")
    # The name is the file's own, so that classes defined in it have a stable identity.
    name = f"jostle_user_{path.resolve().stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _make_importable(path.resolve().parent)
    loader = spec.loader
    return _or_refused(str(path), attempt(lambda: loader.exec_module(module)), module)


def _imported(place: str) -> ModuleType:
    _make_importable(Path.cwd())
    module = attempt(lambda: importlib.import_module(place))
    if isinstance(module, Crash):
        raise UsageError(
            f"cannot import {place}: {module.error}: {module.message}; give FILE.py:function or install the package"
        )
    return module


def _make_importable(folder: Path) -> None:
    """As Python does for a script: modules beside it can be imported. Last, so that they hide nothing installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _or_refused(place: str, result: Crash | None, module: ModuleType) -> ModuleType:
    if isinstance(result, Crash):
        raise UsageError(f"{place} failed on import in {result.where}: {result.error}: {result.message}; fix the file")
    return module

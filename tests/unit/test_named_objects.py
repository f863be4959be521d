"""Python objects that the user names as FILE.py:name or package.module:name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.named_objects import find_object, names_object


@pytest.mark.parametrize("spec", ["a.py:f", "dir/a.py:f", "/x/y.py:Net", "a.b.c:f", "pkg:f", r"C:\x\a.py:f"])
def test_a_file_or_module_with_a_name_is_an_object(spec: str) -> None:
    assert names_object(spec)


@pytest.mark.parametrize("spec", ["a.py", "a.pt2", "images/", "", ":", "a.py:", ":f", "a.py:f()", "a b:f", "dir/a:f"])
def test_everything_else_is_a_path(spec: str) -> None:
    assert not names_object(spec)


def test_a_file_may_import_what_stands_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["", *__import__("sys").path])
    (tmp_path / "beside_it_for_this_test.py").write_text("value = 7")
    (tmp_path / "main.py").write_text("from beside_it_for_this_test import value")
    assert find_object(f"{tmp_path / 'main.py'}:value") == 7


def test_an_object_that_is_not_there_is_refused_with_near_names(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def classifier(): ...")
    with pytest.raises(UsageError, match="did you mean classifier"):
        find_object(f"{tmp_path / 'main.py'}:clasifier")


@pytest.mark.parametrize("code", ["1 / 0", "import sys; sys.exit(3)", "def f(:"])
def test_a_file_that_fails_is_refused_in_one_line(code: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(code)
    with pytest.raises(UsageError, match=r"main\.py") as refused:
        find_object(f"{tmp_path / 'main.py'}:f")
    assert "\n" not in str(refused.value)


def test_foreign_code_that_raises_becomes_a_value() -> None:
    def fails() -> int:
        raise LookupError("first line\nsecond line")

    crash = attempt(fails)
    assert isinstance(crash, Crash)
    assert (crash.error, crash.message, crash.where) == ("LookupError", "first line", "test_named_objects.py:fails")
    assert "second line" in crash.traceback
    assert attempt(lambda: 3) == 3


def test_an_old_and_a_new_version_each_get_the_file_beside_them(tmp_path: Path) -> None:
    for version, factor in (("old", 2), ("new", 3)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "helper.py").write_text(f"FACTOR = {factor}\n")
        (tmp_path / version / "model.py").write_text("from helper import FACTOR\n")
    found = [find_object(f"{tmp_path / version / 'model.py'}:FACTOR") for version in ("old", "new")]
    assert found == [2, 3]


def test_a_file_is_executed_once(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text("one = object()\n")
    assert find_object(f"{tmp_path / 'counted.py'}:one") is find_object(f"{tmp_path / 'counted.py'}:one")


# A library that is missing, and that another one imports if it is there.
WANTS_MISSING = "from contextlib import suppress\nwith suppress(ImportError):\n    import missing_library\nvalue = 7\n"
IMPORTING = "from jostle.named_objects import find_object; print(find_object('{place}:value'))"
INSTALLED = {"module": "wanting.py", "package": "wanting/__init__.py", "member": "wanting/part.py"}


@pytest.mark.parametrize("kind", INSTALLED)
@pytest.mark.parametrize("here", [True, False])
def test_a_file_where_the_user_stands_is_no_library_unless_the_module_lies_there_too(
    here: bool, kind: str, tmp_path: Path
) -> None:
    """A received folder must not supply what an installed package looks for and does not find."""
    working, installed = tmp_path / "working", tmp_path / "installed"
    module = (working if here else installed) / INSTALLED[kind]
    for folder in (working, installed, module.parent):
        folder.mkdir(exist_ok=True, parents=True)
    if kind == "member":
        (module.parent / "__init__.py").touch()
    module.write_text(WANTS_MISSING)
    (working / "missing_library.py").write_text(f"open({str(tmp_path / 'fired')!r}, 'w')")
    place = "wanting.part" if kind == "member" else "wanting"
    search = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))  # nothing stands for here
    call = [sys.executable, "-P", "-c", IMPORTING.format(place=place)]
    done = subprocess.run(call, cwd=working, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True)
    assert done.stdout == "7\n", done.stderr
    assert (tmp_path / "fired").exists() == here


def test_a_package_here_is_found_although_a_folder_elsewhere_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("elsewhere/of_one_name", "here/of_one_name"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "here/of_one_name/__init__.py").write_text("value = 7")
    monkeypatch.setattr("sys.path", [str(tmp_path / "elsewhere"), *sys.path])
    monkeypatch.chdir(tmp_path / "here")
    assert find_object("of_one_name:value") == 7

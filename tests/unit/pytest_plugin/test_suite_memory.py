"""Where findings are kept between runs: names, several processes, checkouts that cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from fuzzed_suites import OURS, failures, folders, run, suite
from jostle.commands.promote import promote
from jostle.errors import JostleWarning
from jostle.pytest_plugin.home import Home, folder_name
from jostle.pytest_plugin.run_options import PROFILES, OptionsOfRun
from soaking import only_in_soak

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
FUZZ = """
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_log(jostle, scale):
    jostle.fuzz(Logarithm(scale=scale), table(), oracle="nan", executions=100, QUICK).assert_clean()
"""
ON_WINDOWS = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}


@given(st.text(), st.integers(1, 999))
def test_every_file_system_takes_the_name_of_a_calls_folder(test: str, call: int) -> None:
    name = folder_name(test, call)
    assert 0 < len(name) <= 80 and name.isascii() and name.isprintable()
    assert not set(name) & set('<>:"/\\|?* ') and name[-1] not in ". " and not name.startswith((".", "-"))
    assert name.partition(".")[0].lower() not in ON_WINDOWS


@given(st.tuples(st.text(), st.integers(1, 99)), st.tuples(st.text(), st.integers(1, 99)))
def test_other_calls_have_other_folders_also_where_case_counts_for_nothing(
    one: tuple[str, int], other: tuple[str, int]
) -> None:
    assert (folder_name(*one).lower() == folder_name(*other).lower()) == (one == other)


def test_a_folder_that_another_run_works_in_is_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.folder("test", 1) as folder:
        case = folder / "known" / "defects" / "case"
        case.mkdir(parents=True)
        (case / "jostle-case.json").touch()
        with pytest.warns(JostleWarning, match="another run is at work"), Home(tmp_path).folder("test", 1) as other:
            copied = other / case.relative_to(folder) / "jostle-case.json"
            assert other != folder and copied.exists(), "what is known is known there too"
    with home.folder("test", 1) as again:
        assert again == folder
    assert not other.exists()


@pytest.mark.parametrize("in_the_way", [False, True])
def test_a_case_that_changes_while_it_is_copied_is_left_out(
    in_the_way: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Home(tmp_path).folder("test", 1) as folder:
        cases = [folder / "known" / "defects" / name for name in ("gone", "same")]
        for case in cases:
            case.mkdir(parents=True)
            (case / "jostle-case.json").write_text("old")
        whole = shutil.copytree

        def copytree(case: Path, to: Path, **how: Any) -> object:
            """Copies while the other run writes the case anew, or moves it away before or after."""
            if case.name == "gone" and in_the_way:
                shutil.rmtree(case)
            done = whole(case, to, **how)
            if case.name == "gone":
                (case / "jostle-case.json").unlink()
            return done

        monkeypatch.setattr(shutil, "copytree", copytree)
        with pytest.warns(JostleWarning), Home(tmp_path).folder("test", 1) as other:
            assert [path.name for path in (other / "known" / "defects").iterdir()] == ["same"]


@pytest.mark.parametrize("link", [".", "campaign", "known", "known/defects", "known/mended", "known/defects/mine"])
def test_nothing_is_written_or_removed_behind_a_link(pytester: pytest.Pytester, link: str) -> None:
    suite(pytester, FUZZ.replace("[1.0, 2.0]", "[1.0]"))
    place = pytester.path / ".jostle" / folder_name("test_net.py::test_log[1.0]", 1) / link
    elsewhere = pytester.mkdir("elsewhere")
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *OutputRefused: * is a link, behind which nothing is written or removed: *"])
    assert {path.name for path in elsewhere.iterdir()} <= {"lock"}


GROUPING = """
def pytest_collection_modifyitems(items):
    for item in items:
        class Grouped(type(item)):
            nodeid = property(lambda self: f"{self.parent.nodeid}::{self.name}@a_b")

        item.__class__ = Grouped
"""


def test_a_group_of_xdist_is_no_part_of_a_tests_name(pytester: pytest.Pytester) -> None:
    entry = '[[accepted]]\ndefect = "nan"\ntest = "test_net.py::test_log[1.0]"\nreason = "x"\nuntil = 2999-01-01\n'
    suite(pytester, FUZZ, **{"jostle-accepted.toml": entry})
    (pytester.path / "conftest.py").write_text(GROUPING)  # as its workers name tests with --dist loadgroup
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    assert failures(result)[1] == "  pytest 'test_net.py::test_log[2.0]'"
    names = {folder_name(f"test_net.py::test_log[{scale}]", 1) for scale in (1.0, 2.0)}
    assert {path.name for path in folders(pytester)} == names


@pytest.mark.parametrize("in_the_way", ["", "lock/", "known", "known/defects/lock/", "campaign", "campaign/lock/"])
def test_a_call_whose_folder_cannot_be_written_costs_a_warning_and_the_memory(
    in_the_way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ".jostle" / folder_name("test", 1) / in_the_way
    place.parent.mkdir(parents=True)
    place.mkdir(parents=True) if in_the_way.endswith("/") else place.touch()
    if in_the_way.endswith("/lock/"):
        refuse_to_write_in(place.parent, monkeypatch)
    told = r"cannot be written \(.*\): this run keeps nothing"
    with pytest.warns(JostleWarning, match=told) as warned, Home(tmp_path).folder("test", 1) as folder:
        assert not folder.is_relative_to(tmp_path) and folder.is_dir()
    assert len(warned) == 1 and not folder.exists()


def refuse_to_write_in(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system does, but for the administrator, whom it refuses nothing."""
    whole = tempfile.TemporaryFile

    def temporary_file(dir: Path) -> object:
        if dir == place:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return whole(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary_file)


def test_version_control_leaves_out_what_is_kept(tmp_path: Path) -> None:
    with Home(tmp_path).folder("test", 1):
        assert (tmp_path / ".jostle" / ".gitignore").read_text().endswith("*\n")


def test_a_home_that_cannot_be_written_costs_one_warning_and_the_memory(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ)
    (pytester.path / ".jostle").write_text("in the way")
    result = run(pytester)
    result.assert_outcomes(failed=2, warnings=1)
    result.stdout.fnmatch_lines(["*JostleWarning: *.jostle cannot be written (*): this run keeps nothing"])
    assert sum("cannot be written" in line for line in result.outlines) == 1


def test_what_a_read_only_checkout_knows_is_replayed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(home: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    suite(pytester, FUZZ)
    first = failures(run(pytester))
    before = {path: path.stat().st_mtime_ns for path in (pytester.path / ".jostle").rglob("*")}
    monkeypatch.setattr("jostle.pytest_plugin.home._try_out", refused)  # nothing refuses the administrator to write
    result = run(pytester)
    assert failures(result)[:6] == first[:6]
    result.stdout.fnmatch_lines(["*.jostle cannot be written (Read-only file system): this run keeps nothing"])
    assert {path: path.stat().st_mtime_ns for path in (pytester.path / ".jostle").rglob("*")} == before


def test_calls_leave_open_what_profiles_and_the_command_line_say() -> None:
    assert OptionsOfRun().over({"twin": None}) == {"budget": PROFILES["ci"]}
    assert OptionsOfRun(profile="nightly").over({"seed": 3}) == {"budget": PROFILES["nightly"], "seed": 3}
    assert OptionsOfRun(profile="nightly").over({"executions": 5}) == {"executions": 5}
    assert OptionsOfRun(profile="nightly").over({"budget": "2s"}) == {"budget": "2s"}
    assert OptionsOfRun("9s", 4).over({"executions": 5, "seed": 3}) == {"budget": "9s", "seed": 4}


@only_in_soak
def test_workers_of_xdist_write_folders_of_their_own_and_tell_one_summary(pytester: pytest.Pytester) -> None:
    accepted = '[[accepted]]\ndefect = "nan"\nreason = "known"\nuntil = 2999-01-01\n'
    suite(pytester, FUZZ, **{"jostle-accepted.toml": accepted})
    how = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 100}
    seeds = np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4)
    found = jostle.fuzz("net.py:build", seeds, oracle="nan", out=pytester.path / "run", quiet=True, **how)
    case = promote(found.place(found.defects[0]), pytester.path / "cases")
    done = in_subprocess(pytester, "-n", "2", "-p", "xdist")
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert f"cases/{case.name}/jostle-case.json::{case.name}" in done.stdout and "(shown again)" in done.stdout
    assert done.stdout.count("\naccepted nan-output") == 2
    assert len(folders(pytester)) == 2


def in_subprocess(pytester: pytest.Pytester, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join([str(ROOT / "src"), environment.pop("also", "")])
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *(() if environment.pop("plain", "") else OURS)],
        cwd=pytester.path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1", **environment},
    )


def test_the_plugin_imports_nothing_heavy_until_a_test_fuzzes(pytester: pytest.Pytester) -> None:
    heavy = ("torch", "numpy", "plotly", "PIL", "faiss", "filelock", "jostle.api", "jostle.commands")
    (pytester.path / "test_light.py").write_text(
        f"import sys\n\ndef test_light(jostle):\n    assert not [name for name in {heavy!r} if name in sys.modules]\n"
    )
    done = in_subprocess(pytester)
    assert "1 passed" in done.stdout, done.stdout


def test_a_session_without_torch_says_what_to_install(pytester: pytest.Pytester) -> None:
    (pytester.path / "conftest.py").write_text("import sys\n\nsys.modules['torch'] = None\n")
    (pytester.path / "test_net.py").write_text("def test_net(jostle):\n    jostle.fuzz(None, None)\n")
    done = in_subprocess(pytester)
    assert "E       jostle.errors.UsageError: the fixture jostle needs torch: pip install torch (" in done.stdout
    assert "src/jostle" not in done.stdout and "1 failed" in done.stdout


def test_a_case_in_a_session_without_torch_says_what_to_install(pytester: pytest.Pytester) -> None:
    (pytester.path / "conftest.py").write_text("import sys\n\nsys.modules['torch'] = None\n")
    (pytester.mkdir("case") / "jostle-case.json").write_text("{}")
    done = in_subprocess(pytester)
    assert "UsageError: case case needs torch: pip install torch (" in done.stdout, done.stdout
    assert "src/jostle" not in done.stdout and "1 failed" in done.stdout


def test_pytest_finds_the_plugin_by_its_entry_point(pytester: pytest.Pytester) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][
        "pytest11"
    ]
    assert declared == {"jostle": "jostle.pytest_plugin.plugin"}
    metadata = pytester.mkdir("site") / "jostle_declared-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: jostle-declared\nVersion: 1.0\n")
    lines = [f"{name} = {module}" for name, module in declared.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    done = in_subprocess(pytester, "--fixtures", "-q", also=str(metadata.parent), plain="yes")
    assert "jostle.fuzz(model, seeds, labels=labels).assert_clean()" in done.stdout, done.stderr

"""Fixtures that several folders share; makers of records stand in making.py, importable because this file is here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from filelock import FileLock
from hypothesis import settings

from fuzzed_suites import libraries

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; tests interrupt commands
    signal.signal(signal.SIGINT, signal.default_int_handler)
# What Jostle remembers of the user and what the user configured: of this run of the tests alone. Records are of full
# paths, so that no test can meet those of another.
_OWN = tempfile.TemporaryDirectory(prefix="jostle-tests-", ignore_cleanup_errors=True)
os.environ |= {"XDG_STATE_HOME": f"{_OWN.name}/state", "XDG_CONFIG_HOME": f"{_OWN.name}/config"}
settings.register_profile("house", deadline=None, derandomize=True)  # the same on a busy machine, and in every run
settings.load_profile("house")


@pytest.fixture(autouse=True)
def repeatable() -> Iterator[None]:
    """The same weights in every run, whichever tests are chosen, and sums that no thread reorders."""
    torch.manual_seed(0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def litert_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LeNet-1 for LiteRT: float, dynamic, int8, and row, which takes rows alone; pooled takes more than it says."""
    folder = _shared(tmp_path_factory) / "litert"
    with FileLock(f"{folder}.lock"):
        if not (folder / "written").exists():
            folder.mkdir(exist_ok=True)
            script = Path(__file__).with_name("writing_litert.py")
            subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
            (folder / "written").touch()
    return folder


@pytest.fixture
def imported() -> Iterator[dict[str, ModuleType]]:
    """What a test imported; it stays, though pytester forgets it, because many libraries cannot be imported twice."""
    modules: dict[str, ModuleType] = {}
    yield modules
    for name, module in modules.items():
        sys.modules.setdefault(name, module)


@pytest.fixture
def pytester(imported: dict[str, ModuleType], pytester: pytest.Pytester) -> Iterator[pytest.Pytester]:
    yield pytester
    imported.update(libraries(pytester))


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

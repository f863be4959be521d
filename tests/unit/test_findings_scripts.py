"""scripts/check_findings.py tells a defect that is there from a script that fails for another reason."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_findings.py"


@pytest.fixture(scope="module")
def checking() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_findings", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("assert 1 == 2", "there"),
        ("assert 1 == 1", "gone"),
        ("import no_such_framework", "framework not installed"),
        ("1 / 0", "fails otherwise (ZeroDivisionError: division by zero): "),
        ("# Fails with: by zero\n1 / 0", "there"),
        ("# Fails with: by zero\nassert 1 == 2", "fails otherwise (AssertionError): "),
        ("# Fails with: SIGABRT\nimport os\nos.abort()", "there"),
        ("# Fails with: SIGSEGV\nimport os\nos.abort()", "fails otherwise (SIGABRT): "),
        ("# Fails with: SIGABRT\n# Fails with: AssertionError\nassert 1 == 2", "there"),
    ],
)
def test_a_defect_is_there_if_its_script_fails_as_it_says(
    checking: ModuleType, text: str, state: str, tmp_path: Path
) -> None:
    path = tmp_path / "script.py"
    path.write_text(text)
    assert checking.state(path) == state

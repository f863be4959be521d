"""What is plain from a command line before torch is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jostle.cli.model_arguments import needs_subprocess, needs_worker


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """A file and two folders that look like models."""
    (tmp_path / "model.onnx").touch()
    for folder, file in (("saved", "saved_model.pb"), ("bert", "config.json")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).touch()
    return [str(tmp_path / name) for name in ("model.onnx", "saved", "bert")]


def test_a_command_that_loads_a_file_needs_a_process(models: list[str]) -> None:
    for model in models:
        assert needs_worker(["fuzz", model, "--seeds", "x"]) and needs_worker(["fuzz", "--seeds", "x", model])
        assert needs_subprocess(["inspect", model]) and needs_subprocess(["coverage", model, "data"])
        assert needs_subprocess(["init", model, "data"])
        assert not needs_subprocess(["fuzz", model]) and not needs_worker(["inspect", model])


def test_what_runs_no_file_needs_none(models: list[str], tmp_path: Path) -> None:
    model, missing = models[0], str(tmp_path / "missing.onnx")
    for arguments in ([], ["fuzz"], ["fuzz", "net.py:build"], ["fuzz", missing], ["fuzz", model, "--no-isolate"]):
        assert not needs_worker(arguments), arguments
    for arguments in ([], ["inspect"], ["inspect", missing], ["inspect", model, "--help"][::-1], ["status", model]):
        assert not needs_subprocess(arguments), arguments


def test_the_command_starts_without_torch_so_that_a_worker_can_import_it_meanwhile() -> None:
    script = "import sys, jostle.cli.main; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"

"""What commands do without: the version and the list of commands need no library that is slow to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jostle import __version__
from jostle.cli.app import COMMANDS

# Runs the command, and then says which modules there are.
SHOWING = (
    "import sys; from jostle.cli.run_command import run_command; run_command(); print(*sys.modules, file=sys.stderr)"
)
LIBRARIES = {"numpy", "torch", "rich", "psutil", "pydantic"}
NOT_FOR_HELP = {*LIBRARIES, "jostle.options", "jostle.composition", "jostle.isolation"}
NOT_FOR_EVERY_CAMPAIGN = {
    "jinja2",
    "plotly",
    "faiss",
    "scipy",
    "sympy",
    "torch._dynamo",
    "transformers",
    "onnx",
    "keras",
}


def shown(*arguments: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules that it imported."""
    ended = subprocess.run([sys.executable, "-c", SHOWING, *arguments], capture_output=True, text=True, check=True)
    return ended.stdout, set(ended.stderr.split())


def test_the_version_needs_no_library_at_all() -> None:
    printed, modules = shown("--version")
    assert printed == f"jostle {__version__}\n"
    assert not modules & {*NOT_FOR_HELP, "typer", "importlib.metadata", "json"}


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_list_of_commands_needs_none_that_is_slow_to_import(flag: str) -> None:
    assert not shown(flag)[1] & NOT_FOR_HELP


def test_a_campaign_begins_without_libraries_that_only_some_need() -> None:
    code = "import sys, jostle.cli.fuzz; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(ended.stdout.split()) & NOT_FOR_EVERY_CAMPAIGN


def test_the_list_tells_each_command_by_its_first_sentence_in_full() -> None:
    words = " ".join(shown("--help")[0].split())
    for name in COMMANDS:
        assert f" {name} " in words
    assert "fuzz Fuzz a model from seeds; every setting can also stand in jostle.toml or pyproject.toml. init" in words
    assert "..." not in words.partition("Commands:")[2]

"""Which code a figure came from."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

HOME = Path(__file__).parents[2]
PACKAGES = ("torch", "numpy", "scipy")
CODE = ("src", "benchmarks", "examples", ":!benchmarks/measured")  # what was measured is none, and changes on the way


def origin_here() -> str:
    """The commit that is checked out and the versions of what computes, as they stand on the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{_commit()}, Python {platform.python_version()}, {packages}"


def _commit() -> str:
    """The commit, with a + if files differ from it."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return f"commit {commit}" + ("+" if _git("status", "--porcelain", "--", *CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return "no commit"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=HOME, capture_output=True, text=True, check=True).stdout.strip()

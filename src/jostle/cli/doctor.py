"""`jostle doctor`: what is installed, and what would install the rest."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.table import Table

from jostle.cli.terminal import output
from jostle.isolation.sandbox import tried

CORE = (
    "torch",
    "numpy",
    "faiss-cpu",
    "filelock",
    "safetensors",
    "pillow",
    "psutil",
    "scipy",
    "tomli-w",
    "typer",
    "rich",
)
# What is optional, with the extra that installs each.
OF_INPUTS = {"pyarrow": "tables", "tokenizers": "text"}
OF_MODELS = {"ai-edge-litert": "litert", "transformers": "transformers"}
OF_FRAMEWORKS = {
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "tensorflow-cpu": "tensorflow",
    "jax": "jax",
    "optax": "jax",
    "paddlepaddle": "paddle",
    "openvino": "openvino",
    "pytensor": "pytensor",
}
OF_WORKERS = {"ray": "ray"}
SAFE_TORCH = (2, 10)  # older ones had memory corruption in the safe loader (CVE-2026-24747)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Say which versions of Python, torch and the optional backends are here, and what installs the missing.

    Of the sandbox of models' processes it says what is active here, as tried.
    """
    found = {"python": platform.python_version(), "jostle": version("jostle")}
    found |= {name: _version(name) or "missing: pip install jostle" for name in CORE}
    found |= _optional(OF_INPUTS, "seeds of that kind") | _optional(OF_MODELS, "models of that kind")
    found |= _optional(OF_FRAMEWORKS, "jostle frameworks") | _optional(OF_WORKERS, "--workers")
    found["sandbox"] = str(tried())
    if as_json:
        print(json.dumps(found))
        return
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, state in found.items():
        table.add_row(name, state.replace("[", r"\["))
    output().print(table)
    if _too_old(found["torch"]):
        output().print("torch is older than 2.10, whose safe loader has known holes: pip install -U torch")


def _optional(extras: Mapping[str, str], purpose: str) -> dict[str, str]:
    """The versions of what is there, and what installs the missing."""
    return {
        name: _version(name) or f"not installed, for {purpose}: pip install 'jostle[{extra}]'"
        for name, extra in extras.items()
    }


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _too_old(torch_version: str) -> bool:
    return tuple(int(part) for part in torch_version.split(".")[:2]) < SAFE_TORCH

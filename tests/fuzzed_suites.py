"""Test suites of others, written into pytester's folder and run by pytest itself."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

# Not from its entry point, which a checkout may or may not have installed.
OURS = ("-p", "no:jostle", "-p", "jostle.pytest_plugin.plugin", "-p", "no:cacheprovider", "-p", "no:randomly")
QUICK = 'mutator="noise", sigma=0.3, radius=1.0, range=(0, 1), confirm=False'

NET = """
import torch
from torch import nn


class Logarithm(nn.Module):
    '''Not finite where its input is below a tenth, unless it is mended.'''

    def __init__(self, mended=False, scale=1.0):
        super().__init__()
        self.mended, self.scale = mended, nn.Parameter(torch.tensor(scale))

    def forward(self, inputs):
        values = inputs.flatten(1)[:, :3] - 0.1
        return self.scale * (values.clamp(0.01) if self.mended else values).log()


def build():
    return Logarithm()


def table():
    return torch.full((6, 4), 0.4) + torch.arange(6)[:, None] / 50
"""


def suite(pytester: pytest.Pytester, body: str, model: str = "Logarithm()", **files: str) -> Path:
    """A suite whose model is in net.py, and whose one file of tests has this body, in which MODEL and QUICK stand."""
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    (pytester.path / "net.py").write_text(NET, encoding="utf-8")
    for name, content in files.items():
        (pytester.path / name).write_text(content, encoding="utf-8")
    text = textwrap.dedent(body).replace("MODEL", model).replace("QUICK", QUICK)
    head = "import pytest\nimport torch\nfrom net import Logarithm, build, table\n"
    path = pytester.path / "test_net.py"
    path.write_text(f"{head}# {model} {len(text)}\n{text}", encoding="utf-8")
    return path


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Pytest in this process, which has torch already."""
    ending = _Ending(pytester)
    result = pytester.runpytest_inprocess(*OURS, *arguments, plugins=[ending])
    for name, module in ending.libraries.items():
        sys.modules.setdefault(name, module)
    return result


@dataclass
class _Ending:
    """Remembers what libraries a run imported, because pytester forgets them."""

    pytester: pytest.Pytester
    libraries: dict[str, ModuleType] = field(default_factory=dict)

    def pytest_unconfigure(self) -> None:
        self.libraries = libraries(self.pytester)


def libraries(pytester: pytest.Pytester) -> dict[str, ModuleType]:
    """All modules but those of the suite that pytester runs."""
    files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    return {name: sys.modules[name] for name, file in files.items() if not Path(file).is_relative_to(pytester.path)}


def folders(pytester: pytest.Pytester) -> list[Path]:
    """Those of all calls."""
    return sorted(path for path in (pytester.path / ".jostle").iterdir() if path.is_dir())


def failures(result: pytest.RunResult) -> list[str]:
    """What stands below the heading of each failed test, up to the next heading."""
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if " FAILURES " in line)
    end = next(number for number, line in enumerate(lines) if number > start and line.startswith("====="))
    return [line for line in lines[start + 1 : end] if not line.startswith(("____", "- generated"))]

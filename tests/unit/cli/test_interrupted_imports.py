"""Whoever interrupts a command while it imports what it needs sees one line, whichever import is under way."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from jostle.cli.terminal import Exit

# Signals itself when a module is about to be imported, as if somebody had pressed Ctrl-C at that very moment.
INTERRUPTED = """
import signal, sys

class InterruptedAt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal({number})

sys.meta_path.insert(0, InterruptedAt())
sys.argv = ["jostle", "fuzz", "jostle.zoo:lenet1", "--seeds", "jostle.zoo:mnist_sample", "--executions", "1"]
from jostle.cli.main import main
main()
"""
MODULES = ["jostle.cli.run_command", "typer", "jostle.cli.fuzz", "numpy", "torch"]
AMID_TORCH = ["torch.version", "torch.distributed", "torch.distributed.rpc", "torch.fx"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", [*MODULES, *(pytest.param(one, marks=pytest.mark.slow) for one in AMID_TORCH)])
def test_an_interrupt_amid_imports_is_one_line_and_the_exit_code(module: str, number: signal.Signals) -> None:
    script = INTERRUPTED.format(module=module, number=int(number))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (Exit.INTERRUPTED, "jostle: interrupted\n")


def test_an_ignored_interrupt_stays_ignored() -> None:
    """As in the background of a shell."""
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    script = INTERRUPTED.format(module="jostle.cli.run_command", number=int(signal.SIGINT))
    version = script.replace('sys.argv = ["jostle", ', 'sys.argv = ["jostle", "--version"] or [')
    ended = subprocess.run([sys.executable, "-c", f"{ignoring}\n{version}"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (Exit.CLEAN, "")

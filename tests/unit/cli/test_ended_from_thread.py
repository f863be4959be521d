"""A thread of the model can raise anything wherever the main thread is, also amid our own code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jostle.cli.terminal import Exit

# Raises it in a frame of our code, in place of a thread that would have to hit the moment.
RAISED_AMID_OURS = """
import sys
import jostle.cli.run_command as ours

source = "def find_spec(name, path=None, target=None):\\n    if name == 'jostle.cli.status': raise {error}"
exec(compile(source, ours.__file__, "exec"))
sys.meta_path.insert(0, type("Raising", (), {{"find_spec": staticmethod(find_spec)}}))
sys.argv = ["jostle", "status", "."]
from jostle.cli.main import main
main()
"""


@pytest.mark.parametrize("error", ["SystemExit", "SystemExit(0)", "SystemExit(1)", "SystemExit('done')"])
def test_a_command_that_a_thread_ends_does_not_end_as_if_it_had_done_its_work(error: str) -> None:
    script = RAISED_AMID_OURS.format(error=error)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == Exit.OUR_ERROR, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("jostle: a thread of the model asked the process to end") and "--isolate" in line

"""How the script of a finding ends, and whether that is what was found."""

from __future__ import annotations

import sys
import time

import pytest

from jostle.graph_signature import Signature
from jostle.session.finish_frameworks import shows
from jostle.session.script_run import ScriptRun, run_script


def ran(program: str, patience: float = 60) -> ScriptRun | None:
    return run_script([sys.executable, "-S", "-c", program], patience, lambda: False)


def test_a_script_tells_its_code_and_what_it_wrote_of_errors_also_what_is_no_text() -> None:
    assert ran("import os; os.write(2, b'a\\xff'); os._exit(3)") == ScriptRun(3, "a\ufffd")


def test_a_script_that_does_not_end_in_time_has_no_code() -> None:
    assert ran("while True: pass", patience=0.3) == ScriptRun(None)


def test_who_asks_to_stop_does_not_wait_for_a_script() -> None:
    started = time.monotonic()
    assert run_script([sys.executable, "-c", "while True: pass"], 600, lambda: time.monotonic() > started + 0.3) is None


CRASH = Signature("paddle", "predict", "crash", "max", frame="Float#Error@a.py:run")
EXIT = Signature("paddle", "predict", "crash", "max", frame="Exit_#@ended_the_process")
HANG = Signature("paddle", "predict", "hang", "max")
VALUES = Signature("paddle", "predict", "values", "max")


@pytest.mark.parametrize(
    ("run", "signature", "shown"),
    [
        (ScriptRun(1, "Float8Error: no"), CRASH, True),
        (ScriptRun(1, "ImportError: no"), CRASH, False),
        (ScriptRun(-11), CRASH, True),
        (ScriptRun(0), CRASH, False),
        (ScriptRun(3), EXIT, True),
        (ScriptRun(1, "ImportError: no"), EXIT, False),
        (ScriptRun(None), HANG, True),
        (ScriptRun(None), VALUES, False),
        (ScriptRun(1, "AssertionError"), VALUES, True),
        (ScriptRun(0), HANG, False),
    ],
)
def test_a_script_shows_what_was_found_if_it_ends_like_that(run: ScriptRun, signature: Signature, shown: bool) -> None:
    assert shows(run, signature, "Exit 3") == shown

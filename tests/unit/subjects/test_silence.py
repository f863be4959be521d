"""Libraries that talk are not heard, and all is afterwards as it was."""

from __future__ import annotations

import logging
import os
import sys
import warnings

import pytest

from jostle.subjects.silence import STDERR, silenced


def talk(logger: logging.Logger) -> None:
    sys.stdout.write("printed")
    sys.stderr.write("printed")
    warnings.warn("warned", stacklevel=1)
    logger.error("logged")


def test_python_code_is_not_heard_until_it_ends(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("some.library")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with silenced():
            talk(logger)
        assert capfd.readouterr() == ("", "") and not caplog.records and not warned
        talk(logger)
    assert capfd.readouterr().out == "printed" and len(caplog.records) == len(warned) == 1


def test_native_code_is_heard_unless_it_is_silenced_too(capfd: pytest.CaptureFixture[str]) -> None:
    with silenced(native=True):
        os.write(STDERR, b"first")
    with silenced():
        os.write(STDERR, b"second")
    assert capfd.readouterr().err == "second"


def test_what_a_library_does_to_the_root_logger_is_undone() -> None:
    root, handler = logging.getLogger(), logging.NullHandler()
    before = (list(root.handlers), root.level, root.manager.disable)
    with pytest.raises(ValueError), silenced(native=True):
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        raise ValueError
    assert (list(root.handlers), root.level, root.manager.disable) == before

"""What `make soak` has done so far: a plugin of pytest that goes on where an earlier run of the same code stopped.

Every test that passes is noted at once, with what it counted (`record_property("kills of workers", 200)`), in a folder
of the code it ran on. A later run leaves those out, and tells how far it is and how long the rest may take.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

FOLDER = "JOSTLE_SOAK_FOLDER"  # where the record stands, of this code
BEFORE = "JOSTLE_SOAK_BEFORE"  # how many lines of it are of earlier runs: what later ones hold, workers must not see
PASSED = "passed.jsonl"
LONGEST = "test_long_campaign"  # the file of a test that watches a campaign for an hour
FAILED = "failed.txt"  # the tests that failed in the latest run


@dataclass(frozen=True)
class Passed:
    """A test that passed."""

    test: str
    seconds: float
    counted: dict[str, int] = field(default_factory=dict)


def passed_in(folder: Path, lines: int | None = None) -> list[Passed]:
    """The tests that passed; a line that a kill cut off is not there."""
    path = folder / PASSED
    found = path.read_text().splitlines(keepends=True)[:lines] if path.exists() else []
    return [Passed(**json.loads(line)) for line in found if line.endswith("\n")]


def counts(passed: list[Passed]) -> Counter[str]:
    """All that was counted, summed."""
    return sum((Counter(one.counted) for one in passed), Counter())


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers see what stood there when the run began
        os.environ[BEFORE] = str(len(passed_in(Path(os.environ[FOLDER]))))
        config.pluginmanager.register(SoakProgress(Path(os.environ[FOLDER])), "soak-progress")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = {one.test for one in passed_in(Path(os.environ[FOLDER]), int(os.environ[BEFORE]))}
    left_out = [item for item in items if item.nodeid in known]
    # The longest first: everything else goes on beside it, and nothing waits for it in the end.
    items[:] = sorted((item for item in items if item.nodeid not in known), key=lambda item: LONGEST not in item.nodeid)
    config.hook.pytest_deselected(items=left_out)


class SoakProgress:
    """Notes what passes, and prints a line for each test."""

    def __init__(self, folder: Path):
        self._passed, self._failing = folder / PASSED, folder / FAILED
        self._failing.unlink(missing_ok=True)
        self._began, self._done, self._failed, self._count = time.monotonic(), 0, 0, 0
        self._calls: dict[str, pytest.TestReport] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._terminal: pytest.TerminalReporter = session.config.pluginmanager.getplugin("terminalreporter")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._count = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        self._count = len(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._calls[report.nodeid] = report
        elif report.failed:
            self._failed += 1
            self._calls.pop(report.nodeid, None)
            _append(self._failing, report.nodeid)
        if report.when == "teardown":
            self._done += 1
            call = self._calls.pop(report.nodeid, None)
            if call is not None and report.passed:
                self._note(call)
            self._tell(report.nodeid)

    def _note(self, call: pytest.TestReport) -> None:
        counted = {str(name): int(value) for name, value in call.user_properties if isinstance(value, int)}
        _append(self._passed, json.dumps(asdict(Passed(call.nodeid, round(call.duration, 1), counted))))

    def _tell(self, test: str) -> None:
        spent = time.monotonic() - self._began
        left = spent / self._done * max(self._count - self._done, 0)
        failed = f", {self._failed} FAILED" if self._failed else ""
        so_far = f"[{self._done}/{self._count}] {spent / 60:.0f} min, about {left / 60:.0f} left{failed}"
        self._terminal.write_line(f"{so_far}: {test}")

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter for each test: the lines tell."""
        return ("passed", "", "") if report.when == "call" and report.passed else None


def failed_in(folder: Path) -> list[str]:
    """The tests that failed in the latest run, each once."""
    path = folder / FAILED
    return list(dict.fromkeys(path.read_text().splitlines())) if path.exists() else []


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line + "\n")

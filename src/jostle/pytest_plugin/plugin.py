"""What pytest loads: options, the marker and the fixture; nothing heavy is imported until a test fuzzes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jostle.errors import UsageError
from jostle.pytest_plugin.accepted import Acceptances, read_accepted
from jostle.pytest_plugin.case_items import CaseFile, CaseItem
from jostle.pytest_plugin.fuzzed_test import ACCEPTED, DAMAGED, MENDED, NOT_RUN, FuzzedTest
from jostle.pytest_plugin.home import HOME, Home
from jostle.pytest_plugin.own_frames import hide_own_frames
from jostle.pytest_plugin.run_options import PROFILES, USUAL, OptionsOfRun
from jostle.storage.defect_record import CASE
from jostle.visible import one_line

MARKER = "fuzz: fuzzes a model; added by itself to tests that use the fixture jostle"
CONSENT_IN_FILE = (
    "jostle_trust_model is a consent, which no file of a project can give: remove it, and give --jostle-trust-model"
)
# What the summary says of tests.
TOLD = {ACCEPTED: "accepted", MENDED: "mended", NOT_RUN: "not run", DAMAGED: "moved"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("jostle", "fuzzing of models")
    group.addoption("--jostle-budget", metavar="TIME", help="time of each campaign (30s, 5m), whatever its call says")
    group.addoption("--jostle-seed", metavar="N", type=int, help="of all randomness, whatever calls say")
    budgets = ", ".join(f"{name} {budget}" for name, budget in PROFILES.items())
    group.addoption(
        "--jostle-profile",
        choices=list(PROFILES),
        default=USUAL,
        help=f"time of campaigns whose calls say none: {budgets} (default: {USUAL})",
    )
    parser.addini("jostle_model", "FILE.py:function or file of the model that promoted cases of objects run on")
    group.addoption(
        "--jostle-trust-model", action="store_true", help="load models of promoted cases that can execute code"
    )
    parser.addini("jostle_trust_model", "refused: --jostle-trust-model says it", "bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    run = Run(config)
    config.stash[RUN] = run
    config.add_cleanup(run.close)
    config.pluginmanager.register(SummaryLines(), "jostle-summary")


class Run:
    """What the tests of one run share."""

    def __init__(self, config: pytest.Config):
        self.options = _options(config)
        self._root = config.rootpath
        self._home: Home | None = None
        self._accepted: Acceptances | None = None

    def home(self) -> Home:
        if self._home is None:
            self._home = Home(self._root)
        return self._home

    def accepted(self) -> Acceptances:
        """What the file at the root says, read when a test first asks."""
        if self._accepted is None:
            self._accepted = read_accepted(self._root)
        return self._accepted

    def close(self) -> None:
        if self._home is not None:
            self._home.close()


RUN = pytest.StashKey[Run]()


def _options(config: pytest.Config) -> OptionsOfRun:
    """What the command line says; refused as pytest refuses options."""
    if config.getini("jostle_trust_model"):
        raise pytest.UsageError(CONSENT_IN_FILE)
    budget, seed = config.getoption("--jostle-budget"), config.getoption("--jostle-seed")
    try:
        _check("--jostle-budget", "budget", budget)
        _check("--jostle-seed", "seed", seed)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    return OptionsOfRun(budget, seed, config.getoption("--jostle-profile"))


def _check(flag: str, name: str, value: object) -> None:
    from jostle.options.campaign import RunOptions
    from jostle.options.declaration import options_of
    from jostle.options.resources import BudgetOptions

    if value is not None:
        known = {**options_of(BudgetOptions), **options_of(RunOptions)}
        try:
            known[name].kind.check(value)
        except ValueError as error:
            raise UsageError(f"{flag} {value}: {error}") from error


@pytest.fixture
def jostle(request: pytest.FixtureRequest) -> Iterator[FuzzedTest]:
    """Fuzzes models: `jostle.fuzz(model, seeds, labels=labels).assert_clean()`."""
    run = request.config.stash[RUN]
    fuzzed = FuzzedTest(request.node, run.options, run.accepted, run.home)
    with fuzzed.undone:
        yield fuzzed


def pytest_itemcollected(item: pytest.Item) -> None:
    if "jostle" in getattr(item, "fixturenames", ()) or isinstance(item, CaseItem):
        item.add_marker("fuzz")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    if file_path.name != CASE or HOME in file_path.parts:
        return None
    return CaseFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo is not None:
        hide_own_frames(call.excinfo.value, call.excinfo.tb)


class SummaryLines:
    """Gathers what tests tell, also those of other processes, for the summary at the end."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            told = ((TOLD[name], value) for name, value in report.user_properties if name in TOLD)
            self._lines |= {one_line(f"{word} {value} [{report.nodeid}]"): None for word, value in told}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lines:
            terminalreporter.section("jostle")
            for line in self._lines:
                terminalreporter.write_line(line)

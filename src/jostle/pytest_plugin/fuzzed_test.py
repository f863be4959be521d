"""The fixture `jostle`: the functions of the package, with a memory from run to run."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jostle.errors import JostleWarning, ResumeRefused, UsageError
from jostle.pytest_plugin.accepted import FILE, Acceptance, Acceptances
from jostle.pytest_plugin.home import CAMPAIGN, HOME, KNOWN, Home
from jostle.pytest_plugin.run_options import LIMITS, OptionsOfRun
from jostle.visible import one_line

if TYPE_CHECKING:
    from jostle.api.result import Result
    from jostle.pytest_plugin.known_defects import KnownDefects
    from jostle.storage.defect_record import Defect

# Properties of a test's report.
ACCEPTED, MENDED, DEFECT, NOT_RUN = "jostle_accepted", "jostle_mended", "jostle_defect", "jostle_not_run"
DAMAGED = "jostle_damaged"
THE_FIXTURE = "the fixture jostle"


@dataclass(repr=False)
class FuzzedTest:
    """Fuzzes on behalf of one test."""

    item: pytest.Item
    of_run: OptionsOfRun
    accepted: Callable[[], Acceptances]
    home: Callable[[], Home]
    undone: ExitStack = field(default_factory=ExitStack)  # when the test is over
    calls: int = 0

    def __repr__(self) -> str:
        return f"<jostle for {self.item.name}>"

    def fuzz(self, model: object, seeds: object, labels: object = None, **options: Any) -> Result:
        """As `jostle.fuzz`: what earlier runs found runs first, and unless some of it is still there, the campaign of
        earlier runs goes on for another budget."""
        return self._fuzzed(model, seeds, labels, options)

    def compare(self, model: object, twin: object, seeds: object, labels: object = None, **options: Any) -> Result:
        """As `jostle.compare`, with the memory of `fuzz`."""
        require(THE_FIXTURE)
        from jostle.api.measuring import TOWARD_DISAGREEMENT

        return self._fuzzed(model, seeds, labels, {**TOWARD_DISAGREEMENT, "twin": twin, **options})

    def coverage(self, model: object, data: object, *arguments: Any, **options: Any) -> Mapping[str, Any]:
        """As `jostle.coverage`."""
        require(THE_FIXTURE)
        from jostle.api.measuring import coverage

        return coverage(model, data, *arguments, **options)

    def _fuzzed(self, model: object, seeds: object, labels: object, options: Mapping[str, Any]) -> Result:
        require(THE_FIXTURE)
        from jostle.pytest_plugin.known_defects import KnownDefects
        from jostle.storage.files import refuse_link, remove

        self.calls += 1
        acceptances = self.accepted()
        folder = self.undone.enter_context(self.home().folder(id_of(self.item), self.calls))
        for place in (folder, folder / CAMPAIGN):
            refuse_link(place)
        known = KnownDefects(folder / KNOWN)
        chosen = self.of_run.over(options)
        asked = {name: value for name, value in chosen.items() if name not in ("out", "quiet")}
        replayed = known.replayed(model, seeds, labels, asked)
        for defect in replayed.mended:
            self._tell(MENDED, f"{defect.name}: {defect.title}")
        for name, reasons in ((NOT_RUN, replayed.not_run), (DAMAGED, replayed.damaged)):
            for reason in reasons:
                self._tell(name, reason)
        if replayed.mended and (folder / CAMPAIGN).exists():
            remove(folder / CAMPAIGN)  # its findings are of a model that is no more
        command = partial(self._command, known, str(model) if isinstance(model, str | Path) else None)
        call = partial(_call, model, seeds, labels)
        search = partial(self._searched, known, folder / CAMPAIGN, call, chosen, command)
        failing = self._failing(replayed.still, acceptances)
        if not failing:
            return search()
        result = known.result(replayed.still)  # until `assert_clean` allows all of it
        result.check = partial(self._check, command=command, acceptances=acceptances, search=search)
        return result

    def _searched(
        self, known: KnownDefects, campaign: Path, call: Call, options: Mapping[str, Any], command: Command
    ) -> Result:
        """What the campaign has found when this run's budget is spent."""
        from jostle.storage.files import remove

        given = {"quiet": True, "out": campaign, **options}
        try:
            result = call({**given, **_extended(options, Path(given["out"]))})
        except ResumeRefused:
            if "out" in options or not campaign.exists():
                raise
            remove(campaign)  # it is of another model or of other settings, or damaged
            result = call(given)
        if result.interrupted:
            raise KeyboardInterrupt
        known.keep(result)
        result.check = partial(self._check, command=command, acceptances=self.accepted(), search=None)
        for warning in result.warnings:  # last, because pytest may have been told to raise it
            warnings.warn(warning, JostleWarning, stacklevel=2)
        return result

    def _check(
        self,
        result: Result,
        allowed: list[str],
        command: Command,
        acceptances: Acceptances,
        search: Callable[[], Result] | None,
    ) -> None:
        """What `assert_clean` does: fails with two lines a defect, unless all are allowed or accepted."""
        __tracebackhide__ = True
        from jostle.triage.failure import failure_text

        left = result.other_than(allowed)
        failing = self._failing(left, acceptances)
        if failing:
            self._attach(result, failing)
            lines = partial(self._lines, partial(command, result), acceptances)
            pytest.fail(failure_text(failing, lines), pytrace=False)
        if search is not None:  # all that is still there is allowed, so there is more to look for
            more = search()
            result.triaged, result.ended = more.triaged, more.ended
            result.warnings, result.check = more.warnings, more.check
            result.assert_clean(allowed)
        else:
            self._tell_accepted(left, acceptances)

    def _tell_accepted(self, defects: Sequence[Defect], acceptances: Acceptances) -> None:
        for defect in defects:
            entry = self._entry(defect, acceptances)
            assert entry is not None, "else it fails"
            self._tell(ACCEPTED, f"{defect.name}: {entry.reason} (until {entry.until})")

    def _failing(self, defects: Sequence[Defect], acceptances: Acceptances) -> list[Defect]:
        entries = [(defect, self._entry(defect, acceptances)) for defect in defects]
        return [defect for defect, entry in entries if entry is None or entry.expired(date.today())]

    def _entry(self, defect: Defect, acceptances: Acceptances) -> Acceptance | None:
        return acceptances.of(defect.cause.kind, defect.name, id_of(self.item))

    def _lines(self, command: Callable[[Defect], str], acceptances: Acceptances, defect: Defect) -> list[str]:
        """What stands below a defect: what shows it, and if it was accepted too long ago, why."""
        entry = self._entry(defect, acceptances)
        reason = "" if entry is None else one_line(entry.reason)
        over = [] if entry is None else [f"accepted until {entry.until}, which is over: {reason} ({FILE})"]
        return [command(defect), *over]

    def _command(self, known: KnownDefects, model: str | None, result: Result, defect: Defect) -> str:
        """What shows a defect again: `jostle replay`, or this test if its objects are needed or its folder goes."""
        from jostle.pytest_plugin.known_defects import replay_flags

        case, home = known.case_of(result, defect), self.item.config.rootpath / HOME
        lasts = case.is_relative_to(home) or not case.is_relative_to(known.folder.parent)
        flags = replay_flags(case, model) if model is not None and lasts else None
        if flags is None:
            return command_of(self.item)
        return " ".join(["jostle replay", shlex.quote(seen_from_start(self.item.config, case)), *flags])

    def _attach(self, result: Result, defects: Sequence[Defect]) -> None:
        """Tells reports where pictures and scripts stand."""
        from jostle.triage.failure import MOST_TOLD

        lines = []
        for defect in defects[:MOST_TOLD]:
            self._tell(DEFECT, defect.name)
            for what, path in (("picture", result.picture(defect)), ("script", result.script(defect))):
                if path is not None:
                    self._tell(f"jostle_{what}", str(path))
                    lines.append(f"{defect.name}: {what} {seen_from_start(self.item.config, path)}")
        if lines:
            self.item.add_report_section("call", "jostle", "\n".join(lines))

    def _tell(self, name: str, value: str) -> None:
        if (name, value) not in self.item.user_properties:
            self.item.user_properties.append((name, value))


Call = Callable[[Mapping[str, Any]], "Result"]
Command = Callable[["Result", "Defect"], str]  # that shows a defect again


def _call(model: object, seeds: object, labels: object, options: Mapping[str, Any]) -> Result:
    from jostle.api.fuzzing import fuzzed

    return fuzzed(model, seeds, labels, **options)


def _extended(options: Mapping[str, Any], campaign: Path) -> dict[str, Any]:
    """The limits of a run of its own, for a campaign that counts what earlier runs spent."""
    from jostle.composition.settle import FUZZ
    from jostle.storage.campaign_record import CONFIG
    from jostle.storage.overview import overview_of

    given = FUZZ.parsed({name: options[name] for name in LIMITS if name in options}).values
    if not (campaign / CONFIG).is_file():
        return {}
    overview = overview_of(campaign)
    spent = {
        "budget": overview.statistics.seconds or 0.0,
        "executions": overview.executions,
        "findings": sum(overview.findings.values()),
    }
    return {name: value + spent[name] for name, value in given.items()}


def require(who: str) -> None:
    """Refuses in one line where a library is missing that all of the package needs."""
    try:
        import jostle.api.measuring
        import jostle.pytest_plugin.known_defects  # noqa: F401
    except ImportError as error:
        name = (error.name or "torch").partition(".")[0]
        raise UsageError(f"{who} needs {name}: pip install {name} ({error})") from error


def id_of(item: pytest.Item) -> str:
    """The node id of a test, without the group that pytest-xdist adds to it."""
    plain = f"{item.parent.nodeid}::{item.name}" if item.parent is not None else item.nodeid
    return plain if item.nodeid.startswith(f"{plain}@") else item.nodeid


def command_of(item: pytest.Item) -> str:
    """What runs one test, from where pytest was started."""
    path, *names = id_of(item).split("::")
    place = seen_from_start(item.config, item.config.rootpath / path)
    return f"pytest {shlex.quote('::'.join([place, *names]))}"


def seen_from_start(config: pytest.Config, path: Path) -> str:
    """A path as it stands from where pytest was started, if it leads into the root folder; with / on Windows too."""
    start, root = config.invocation_params.dir, config.rootpath
    near = path.is_relative_to(root) and start.drive == root.drive
    return (Path(os.path.relpath(path, start)) if near else path).as_posix()

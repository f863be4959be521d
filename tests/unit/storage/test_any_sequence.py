"""Whatever happens to a campaign's folder, in any order: findings never shrink, and journal and corpus agree."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fragile_campaign import SEEDS, Run
from jostle.campaign import Budget
from jostle.errors import JostleError
from jostle.storage import files
from jostle.storage.archive import open_archive
from jostle.storage.failing_tests import count_failing, read_failing
from jostle.storage.findings import FINDINGS, finding_folders, is_whole, read_finding, readable_findings
from jostle.storage.history import read_history, read_kept
from jostle.storage.journal import JOURNAL, read_journal
from jostle.storage.overview import overview_of
from odd_files import ODD_FILES
from soaking import times

BATCH, MOST_STEPS = 16, 24
UNTOUCHED = {"config.json"}  # without which the folder is no campaign, and is refused
QUICK_ODDITIES = sorted(ODD_FILES.keys() - {"terabyte", "zeros"})


def until(steps: int) -> Budget:
    return Budget(executions=len(SEEDS) + BATCH * steps)


class FolderMachine(RuleBasedStateMachine):
    """A campaign that is run, killed, damaged, looked at and gone on with."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "out"
        self.steps = 0
        self.in_doubt: set[Path] = set()  # what was damaged since the folder was last put in order
        self.as_undisturbed = True  # no finding was ever damaged, which changes what counts as known

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    @initialize()
    def begin(self) -> None:
        self.go_on(2)

    @rule(steps=st.integers(1, 3))
    def go_on(self, steps: int) -> None:
        self.steps = min(MOST_STEPS, self.steps + steps)
        before = self.sound_findings()
        while not self.ran():
            self.move_away()
        self.in_doubt.clear()
        self.check_in_order(before)

    @rule(steps=st.integers(1, 3), writes=st.integers(0, 30), half=st.booleans())
    def killed(self, steps: int, writes: int, half: bool) -> None:
        """Every byte that leaves goes through one function; what lies there at one of its calls is all that is left."""
        self.steps = min(MOST_STEPS, self.steps + steps)
        before = self.sound_findings()
        left, snapshot = [writes], self.place / "snapshot"
        put = files.put

        def put_or_die(file: files.BinaryIO, content: bytes) -> None:
            left[0] -= 1
            if left[0] == 0:
                if half:
                    put(file, content[: len(content) // 2])
                    file.flush()
                shutil.copytree(self.folder, snapshot, symlinks=True, ignore=_no_files)
                put(file, content[len(content) // 2 :] if half else content)
            else:
                put(file, content)

        with mock.patch.object(files, "put", put_or_die):
            self.ran()
        if snapshot.exists():
            shutil.rmtree(self.folder)
            snapshot.rename(self.folder)
        found = self.sound_findings()
        assert before <= found | self.lost_to_damage()

    @precondition(lambda self: len(self.in_doubt) < 2)
    @rule(which=st.integers(0, 1000), how=st.sampled_from(["cut", "flip", "gone", *QUICK_ODDITIES]))
    def damage(self, which: int, how: str) -> None:
        there = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name not in UNTOUCHED)
        path = there[which % len(there)]
        content = bytearray(path.read_bytes())
        path.unlink()
        if how == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif how == "flip":
            content[which % len(content) if content else 0 : 0] = b"?"
            path.write_bytes(content)
        elif how != "gone":
            ODD_FILES[how](path)
        self.in_doubt.add(path)
        self.as_undisturbed &= path.parent.parent.name not in (FINDINGS, "flaky") and path.name != "findings.log"

    @rule()
    def looked_at(self) -> None:
        """By commands that change nothing, and refuse in one line or tell what is there."""
        for look in (overview_of, count_failing, read_failing, lambda folder: read_kept(folder, SEEDS)):
            refused(lambda look=look: look(self.folder))
        for folder, record in readable_findings(self.folder / FINDINGS)[0]:
            refused(lambda folder=folder, record=record: read_finding(folder, record))

    def ran(self) -> bool:
        """Whether the campaign went on; if it refused to, it said so in one line."""
        return not refused(self.run_on)

    def run_on(self) -> None:
        with open_archive(self.folder, {}, pictures=False) as archive:
            history = read_history(self.folder, SEEDS, archive.quarantine)
            run = Run(until(self.steps), batch=BATCH, listeners=(archive,))
            run.to_the_end(history, redone=archive.repair)
            archive.conclude(run.summary)

    def move_away(self) -> None:
        """What the refusal asked for."""
        assert self.in_doubt, "refused, though nothing was damaged"
        for path in self.in_doubt:
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                path.unlink()
            elif path.is_dir():
                path.rmdir()
        self.in_doubt.clear()

    def sound_findings(self) -> set[tuple[str, str]]:
        """Names of findings that nothing was done to."""
        return {
            (place.name, "whole")
            for place in finding_folders(self.folder / FINDINGS)
            if is_whole(place) and not any(place in path.parents for path in self.in_doubt)
        }

    def lost_to_damage(self) -> set[tuple[str, str]]:
        return {(path.parent.name, "whole") for path in self.in_doubt}

    def check_in_order(self, before: set[tuple[str, str]]) -> None:
        assert before <= self.sound_findings()
        assert all(is_whole(place) for place in finding_folders(self.folder / FINDINGS))
        lines = read_journal(self.folder / JOURNAL).lines
        assert len(read_kept(self.folder, SEEDS)) == sum(line.kept for line in lines)
        assert len(read_failing(self.folder)) == sum(line.failing for line in lines)
        if self.as_undisturbed:
            assert (self.folder / JOURNAL).read_bytes() == undisturbed(self.steps)


def _no_files(folder: str, names: list[str]) -> set[str]:
    """What cannot be copied: pipes and sockets."""
    there = {name: Path(folder, name) for name in names}
    return {name for name, path in there.items() if not (path.is_file() or path.is_dir() or path.is_symlink())}


def refused(work: Callable[[], object]) -> bool:
    try:
        work()
    except JostleError as error:
        assert len(str(error).splitlines()) == 1, error
        return True
    return False


JOURNALS: dict[int, bytes] = {}


def undisturbed(steps: int) -> bytes:
    """The journal of a campaign of so many steps that nothing happened to."""
    if steps not in JOURNALS:
        with tempfile.TemporaryDirectory() as folder, open_archive(Path(folder), {}, pictures=False) as archive:
            run = Run(until(steps), batch=BATCH, listeners=(archive,)).to_the_end()
            archive.conclude(run.summary)
            JOURNALS[steps] = Path(folder, JOURNAL).read_bytes()
    return JOURNALS[steps]


FolderMachine.TestCase.settings = settings(
    max_examples=times(6, 300),
    stateful_step_count=times(6, 15),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestAnySequenceKeepsWhatWasFound = FolderMachine.TestCase

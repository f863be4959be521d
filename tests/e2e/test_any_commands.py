"""Commands on one campaign's folder in any order, with kills and damage between them.

Findings never shrink, journal and corpus agree, commands that only read change nothing, and no code of the folder runs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.isolation.ahead import MODEL_WORKER, started_ahead
from jostle.storage import files
from jostle.storage.failing_tests import read_failing
from jostle.storage.findings import FINDINGS, finding_folders, is_whole
from jostle.storage.history import read_kept
from jostle.storage.journal import JOURNAL, read_journal
from jostle.zoo import mnist_sample
from making import seeds_of
from odd_files import ODD_FILES
from soaking import times

COUNT, BATCH, MOST_STEPS = 10, 8, 16
SEEDS = seeds_of(*(values[:COUNT] for values in mnist_sample()))
CALL = [
    *["fuzz", "jostle.zoo:lenet1", "--oracle", "flip", "--mutator", "noise", "--sigma", "0.4", "--radius", "1"],
    *["--coverage", "kmnc", "--batch", str(BATCH), "--no-minimise", "--json"],
]
CONFIG = "config.json"  # without which the folder is no campaign, and is refused
WRITTEN = {"reduced.npz", "lock"}  # by commands that otherwise change nothing
ODDITIES = ("pipe", "link", "folder", "empty", "deep", "infinite")
REFUSED = (Exit.USAGE, Exit.OUR_ERROR)  # 3 where a file cannot be written
DOCUMENTED = (Exit.CLEAN, Exit.FINDINGS, Exit.NOTHING_RAN, *REFUSED)
EVIL = "from pathlib import Path\nPath({fired!r}).touch()\nfrom jostle.zoo import lenet1 as thing\n"


class CommandMachine(RuleBasedStateMachine):
    """A campaign of `jostle fuzz` that is killed, damaged, tampered with, reduced, replayed and gone on with."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder, self.fired = self.place / "out", self.place / "fired"
        np.savez(self.place / "few.npz", x=SEEDS.inputs.numpy(), y=SEEDS.labels.numpy())
        self.steps = 0
        self.in_doubt: set[Path] = set()  # what was damaged since the campaign last went on

    def teardown(self) -> None:
        assert not self.fired.exists(), "code of the folder ran"
        shutil.rmtree(self.place)

    def fuzz(self) -> list[str]:
        executions = COUNT + BATCH * self.steps
        seeds, out = str(self.place / "few.npz"), str(self.folder)
        return [*CALL, "--seeds", seeds, "--executions", str(executions), "--out", out]

    @initialize()
    def begin(self) -> None:
        self.go_on(6)

    @rule(steps=st.integers(1, 3))
    def go_on(self, steps: int) -> None:
        self.steps = min(MOST_STEPS, self.steps + steps)
        before = self.sound_findings()
        while refused(ended := in_this_process(*self.fuzz())):
            assert self.in_doubt, f"refused, though nothing was damaged: {ended.err}"
            self.move_away()
        self.in_doubt.clear()
        self.check_in_order(before)

    @rule(steps=st.integers(1, 3), writes=st.integers(1, 30))
    def killed(self, steps: int, writes: int) -> None:
        """At one of the calls of the function through which every byte leaves."""
        self.steps = min(MOST_STEPS, self.steps + steps)
        before = self.sound_findings()
        child = os.fork()
        if not child:
            with mock.patch.object(files, "put", dying(files.put, writes)):
                in_this_process(*self.fuzz())
            os._exit(0)
        os.waitpid(child, 0)
        assert before <= self.sound_findings() | {path.parent.name for path in self.in_doubt}

    @precondition(lambda self: len(self.in_doubt) < 2)
    @rule(which=st.integers(0, 1000), how=st.sampled_from(["cut", "gone", *ODDITIES]))
    def damage(self, which: int, how: str) -> None:
        there = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name != CONFIG)
        path = there[which % len(there)]
        content = path.read_bytes()
        path.unlink()
        if how == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif how != "gone":
            ODD_FILES[how](path)
        self.in_doubt.add(path)

    @rule()
    def cmin(self) -> None:
        ended = self.only_read("cmin", str(self.folder))
        assert self.in_doubt or ended.code == Exit.CLEAN, ended.err

    @rule()
    def replay(self) -> None:
        ended = self.only_read("replay", str(self.folder))
        if not self.in_doubt and self.sound_findings():
            assert ended.code == Exit.FINDINGS and "shown again" in ended.out, ended.err

    @rule(option=st.sampled_from(["model", "seeds", "oracle", "coverage", "metadata"]))
    def tampered(self, option: str) -> None:
        """The folder names code that lies in it; afterwards it is as before."""
        config, evil = self.folder / CONFIG, self.folder / "evil.py"
        before = config.read_bytes()
        evil.write_text(EVIL.format(fired=str(self.fired)))
        config.write_text(json.dumps({**json.loads(before), option: f"{evil}:thing"}))
        for command in ("status", "cmin", "replay"):
            refused(in_this_process(command, str(self.folder)))
            assert not self.fired.exists(), f"{command} ran it"
        evil.unlink()
        config.write_bytes(before)

    def only_read(self, *command: str) -> Ended:
        before = contents(self.folder)
        ended = in_this_process(*command)
        refused(ended)
        assert contents(self.folder) == before
        return ended

    def move_away(self) -> None:
        """What the refusal asked for."""
        for path in self.in_doubt:
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        self.in_doubt.clear()

    def sound_findings(self) -> set[str]:
        """Names of findings that nothing was done to."""
        whole = (place for place in finding_folders(self.folder / FINDINGS) if is_whole(place))
        return {place.name for place in whole if not any(place in path.parents for path in self.in_doubt)}

    def check_in_order(self, before: set[str]) -> None:
        assert before <= self.sound_findings()
        assert all(is_whole(place) for place in finding_folders(self.folder / FINDINGS))
        lines = read_journal(self.folder / JOURNAL).lines
        assert len(read_kept(self.folder, SEEDS)) == sum(line.kept for line in lines)
        assert len(read_failing(self.folder)) == sum(line.failing for line in lines)


def dying(put: Callable[..., None], writes: int) -> Callable[..., None]:
    """Writes so many times, and half of the next."""
    left = [writes]

    def put_or_die(file: files.BinaryIO, content: bytes) -> None:
        left[0] -= 1
        if not left[0]:
            put(file, content[: len(content) // 2])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        put(file, content)

    return put_or_die


def refused(ended: Ended) -> bool:
    """Whether a command refused, or could not write where something is in the way, in one line that names the fix."""
    assert ended.code in DOCUMENTED and "Traceback" not in ended.err and "defect in Jostle" not in ended.err, ended
    lines = [line for line in ended.err.splitlines() if line.startswith("jostle: ")]
    assert ended.code not in REFUSED or len(lines) == 1, ended.err
    return ended.code in REFUSED


def contents(folder: Path) -> dict[str, bytes]:
    """Of regular files, as far as commands that read have no business with them."""
    there = (path for path in folder.rglob("*") if path.is_file() and path.name not in WRITTEN)
    return {str(path.relative_to(folder)): path.read_bytes() for path in there}


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_any_sequence_of_commands_keeps_what_was_found() -> None:
    chosen = settings(
        max_examples=times(2, 12),
        stateful_step_count=times(8, 12),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    with started_ahead(MODEL_WORKER):  # replaying needs a worker each time, and torch takes seconds to import
        run_state_machine_as_test(CommandMachine, settings=chosen)

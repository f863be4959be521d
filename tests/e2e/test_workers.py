"""Campaigns whose steps are done by workers of Ray, here and on two nodes, some of which are killed.

Everything is waited for as a condition, for as long as a busy machine may take.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from running import ENVIRONMENT, JOSTLE, Ended, in_this_process

import jostle as package
from jostle.cli.terminal import Exit
from jostle.storage.findings import is_whole, recorded
from jostle.storage.journal import JournalLine, read_journal
from soaking import Count, only_in_soak, times

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")]

LONGEST = 300.0  # seconds for what a busy machine may do in a few
MUCH, GREED = 3 * 2**30, 5 * 2**30  # bytes that a node may have more than now, and that a model takes there
THRESHOLD = "RAY_memory_usage_threshold"  # the share of a machine's memory above which Ray ends a worker
# Eight classes that lie close to each other. Once it is told to, it ends its process as the kernel does for memory, or
# takes memory on a node that has little.
MODEL = """
import os
import signal
import time

import torch


class Voting(torch.nn.Module):
    def forward(self, inputs):
        if os.path.exists("armed"):
            os.rename("armed", "fired")
            os.kill(os.getpid(), signal.SIGKILL)
        if "@THRESHOLD@" in os.environ and os.path.exists("greedy"):
            os.rename("greedy", "greeded")
            taken = torch.ones(@GREED@, dtype=torch.uint8)
            while taken[0]:
                time.sleep(1)
        return inputs @ torch.sin(torch.arange(48.0) * 1.7).reshape(6, 8)
""".replace("@THRESHOLD@", THRESHOLD).replace("@GREED@", str(GREED))
CALL = [
    *["fuzz", "voting.py:Voting", "--seeds", "vectors.npz", "--oracle", "flip", "--threshold", "0.3", "--sigma", "0.3"],
    *["--batch", "16", "--no-confirm", "--finishing", "1s", "--json"],
]
WITHOUT_END = ["--budget", "1h"]
ROUNDS = 6  # each a line of the journal, that several workers do before something is killed
# Ray's workers have what other processes leave unless they are told otherwise: on a busy machine, next to nothing.
OF_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


# What runs


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and seeds."""
    folder = tmp_path_factory.mktemp("crewed")
    (folder / "voting.py").write_text(MODEL)
    np.savez(folder / "vectors.npz", x=np.random.default_rng(3).random((12, 6), dtype=np.float32))
    return folder


@dataclass
class Nodes:
    """A cluster of Ray on this machine, of a head with one processor and others that come and go."""

    cluster: Any

    @property
    def address(self) -> list[str]:
        return ["--ray-address", str(self.cluster.address)]

    def workers(self) -> list[psutil.Process]:
        """Processes of this cluster that work, or are about to, for a campaign."""
        found = []
        for node in self.cluster.list_all_nodes():
            for started in node.all_processes.get("raylet", ()):
                with contextlib.suppress(psutil.Error):
                    found += crew_below(psutil.Process(started.process.pid))
        return found


def crew_below(process: psutil.Process) -> list[psutil.Process]:
    found = []
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(word.startswith("ray::CrewMember") for word in child.cmdline()[:1]):
                found.append(child)
    return found


@pytest.fixture(scope="module")
def head() -> Iterator[Nodes]:
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in OF_RAY.items():
            patch.setenv(name, value)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            yield Nodes(cluster)
        finally:
            cluster.shutdown()


@pytest.fixture
def two_nodes(head: Nodes) -> Iterator[Nodes]:
    """With a second node of one processor."""
    node = head.cluster.add_node(num_cpus=1)
    yield head
    if node in head.cluster.list_all_nodes():
        head.cluster.remove_node(node)


@dataclass
class Driver:
    """The command as a process of its own."""

    process: subprocess.Popen[str]
    out: Path  # the campaign's folder

    @staticmethod
    def start(call: list[str], out: Path, cwd: Path) -> Driver:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return Driver(subprocess.Popen([JOSTLE, *call, "--out", str(out)], cwd=cwd, env=ENVIRONMENT, **streams), out)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Looked at no more once it held: workers come and go."""
        held = False

        def is_over() -> bool:
            nonlocal held
            held = holds()
            return held or self.process.poll() is not None

        wait_for(is_over)
        assert held, self.process.communicate()

    def ended(self) -> Ended:
        out, err = self.process.communicate(timeout=LONGEST)
        return Ended(self.process.returncode, out, err)

    def interrupted(self) -> Ended:
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def lines(self) -> tuple[JournalLine, ...]:
        return lines_of(self.out)


@pytest.fixture
def start(place: Path, tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    """Starts the command in one folder for one campaign; what still runs after the test is ended."""
    drivers = []

    def start(*call: str, out: Path = tmp_path / "out") -> Driver:
        drivers.append(Driver.start(list(call), out, place))
        return drivers[-1]

    yield start
    for driver in drivers:
        if driver.process.poll() is None:
            driver.kill()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST
    while not holds():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def wait_for_both(driver: Driver, nodes: Nodes) -> None:
    """Until two workers live that have each done something: one that dies too often before it has ends the campaign."""
    driver.wait_until(lambda: len(nodes.workers()) == 2)
    before = len(driver.lines)
    driver.wait_until(lambda: who(driver.lines[before:]) == {0, 1})


# What is true of a folder


def lines_of(out: Path) -> tuple[JournalLine, ...]:
    journal = out / "journal.jsonl"
    return read_journal(journal).lines if journal.exists() else ()


def who(lines: tuple[JournalLine, ...]) -> set[int]:
    """The workers that did these steps."""
    return {line.by.worker for line in lines if line.by is not None}


def fingerprints(out: Path) -> list[str]:
    return sorted(record.fingerprint for _, record in recorded(out / "findings"))


def check_folder(out: Path, killed: bool = False) -> None:
    """Findings are those of the journal, each once; no worker did one of its steps twice.

    Where the campaign was killed, a finding may have been safe before the line of its step was.
    """
    lines = lines_of(out)
    told = [one for line in lines for one in line.findings]
    assert told and len(set(told)) == len(told)
    assert set(told) <= set(fingerprints(out)) if killed else sorted(told) == fingerprints(out)
    assert len(set(fingerprints(out))) == len(fingerprints(out))
    assert all(is_whole(folder) for folder in (out / "findings").iterdir())
    by = [line.by for line in lines[1:]]
    assert None not in by and len(set(by)) == len(by)
    assert [line.step for line in lines] == list(range(len(lines)))


# Two nodes


@only_in_soak
def test_workers_and_a_node_are_killed_and_no_finding_is_lost(
    two_nodes: Nodes, start: Callable[..., Driver], place: Path, record_property: Count
) -> None:
    """The first death is the model's own, by SIGKILL, as the kernel ends a process that takes all memory."""
    chance, kills = random.Random(0), times(2, 20)
    driver = start(*CALL, *WITHOUT_END, "--workers", "2", *two_nodes.address)
    driver.wait_until(lambda: who(driver.lines) == {0, 1})
    (place / "armed").touch()
    driver.wait_until((place / "fired").exists)
    for _ in range(kills):
        wait_for_both(driver, two_nodes)
        time.sleep(times(0, 3))
        with contextlib.suppress(psutil.NoSuchProcess):
            chance.choice(two_nodes.workers()).kill()
    wait_for_both(driver, two_nodes)
    found = {one for line in driver.lines for one in line.findings}
    (second,) = two_nodes.cluster.worker_nodes
    two_nodes.cluster.remove_node(second, allow_graceful=False)
    before = len(driver.lines)
    driver.wait_until(lambda: len(driver.lines) > before + ROUNDS)
    two_nodes.cluster.add_node(num_cpus=1)  # another machine comes, and takes the place
    wait_for_both(driver, two_nodes)
    ended = driver.interrupted()
    assert ended.code == Exit.INTERRUPTED, ended.err
    check_folder(driver.out)
    assert found <= set(fingerprints(driver.out))
    told = in_this_process("status", str(driver.out), "--json").json()
    workers = told["statistics"]["workers"]
    assert workers["lost"] >= kills + 2 and set(workers["executions_per_second"]) == {"0", "1"}
    assert {"oldest_synchronisation_seconds", "synchronising", "unassessed", "duplicates", "lost_seconds"} <= set(
        workers
    )
    for node in list(two_nodes.cluster.worker_nodes):
        two_nodes.cluster.remove_node(node)
    record_property("kills of Ray's workers", kills + 2)


@only_in_soak
@pytest.mark.skipif(psutil.virtual_memory().available < 2 * GREED, reason="takes 5 GB of memory")
def test_a_worker_that_takes_too_much_memory_is_ended_by_ray_and_replaced(
    head: Nodes, start: Callable[..., Driver], place: Path
) -> None:
    memory = psutil.virtual_memory()
    threshold = (memory.total - memory.available + MUCH) / memory.total
    node = head.cluster.add_node(num_cpus=1, env_vars={THRESHOLD: str(threshold)})
    try:
        driver = start(*CALL, *WITHOUT_END, "--workers", "2", *head.address)
        wait_for_both(driver, head)
        before = set(head.workers())
        (place / "greedy").touch()
        driver.wait_until(lambda: (place / "greeded").exists() and not before <= set(head.workers()))
        wait_for_both(driver, head)
        ended = driver.interrupted()
    finally:
        head.cluster.remove_node(node)
    assert ended.code == Exit.INTERRUPTED, ended.err
    assert ended.json()["workers"]["lost"] >= 1
    check_folder(driver.out)


@pytest.mark.soak
def test_a_killed_campaign_leaves_no_worker_and_goes_on_without_repeating_or_losing_anything(
    two_nodes: Nodes, start: Callable[..., Driver], record_property: Count
) -> None:
    call, known = [*CALL, "--workers", "2", *two_nodes.address], set[str]()
    for attempt in range(times(1, 10)):
        driver = start(*call, *WITHOUT_END)
        before = len(driver.lines)
        driver.wait_until(lambda: who(driver.lines[max(before, 1) :]) == {0, 1} and len(driver.lines) > before + ROUNDS)
        doomed = [] if attempt % 2 else two_nodes.workers()  # everything at once, or the campaign alone
        driver.kill()
        for worker in doomed:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        wait_for(lambda: not two_nodes.workers())
        known |= {one for line in driver.lines for one in line.findings}
    begun = driver.out.joinpath("journal.jsonl").read_bytes()
    sound = begun[: read_journal(driver.out / "journal.jsonl").sound]
    executions = driver.lines[-1].executions + 4000
    driver = start(*call, "--executions", str(executions))
    ended = driver.ended()
    assert ended.code == Exit.FINDINGS, ended.err
    assert driver.out.joinpath("journal.jsonl").read_bytes().startswith(sound)
    assert driver.lines[-1].executions == executions == ended.json()["executions"]
    assert known <= set(fingerprints(driver.out))
    check_folder(driver.out, killed=True)
    record_property("kills of campaigns with workers", times(1, 10))


@only_in_soak
def test_four_workers_on_two_processors_are_warned_of_and_all_work(
    two_nodes: Nodes, start: Callable[..., Driver]
) -> None:
    driver = start(*CALL, *WITHOUT_END, "--workers", "4", *two_nodes.address)
    driver.wait_until(lambda: who(driver.lines) == {0, 1, 2, 3})
    ended = driver.interrupted()
    assert ended.code == Exit.INTERRUPTED, ended.err
    assert "4 workers share 2 processors" in ended.err
    assert set(ended.json()["workers"]["executions_per_second"]) == {"0", "1", "2", "3"}
    check_folder(driver.out)


@only_in_soak
def test_a_worker_of_another_version_is_refused_in_one_line(
    head: Nodes, start: Callable[..., Driver], tmp_path: Path
) -> None:
    home = Path(package.__file__).parent
    shutil.copytree(home, tmp_path / "other" / "jostle", ignore=shutil.ignore_patterns("__pycache__"))
    version = tmp_path / "other" / "jostle" / "__init__.py"
    version.write_text(version.read_text().replace(f'"{package.__version__}"', '"0.0.7"'))
    node = head.cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path / "other")})
    try:
        ended = start(*CALL, *WITHOUT_END, "--workers", "2", *head.address).ended()
    finally:
        head.cluster.remove_node(node)
    assert ended.code == Exit.USAGE, ended.err
    assert f"has jostle 0.0.7, and the campaign {package.__version__}: install the same version there" in ended.err
    assert len([line for line in ended.err.splitlines() if "warning" not in line]) == 1, ended.err


def test_frameworks_are_compared_by_two_workers(two_nodes: Nodes, start: Callable[..., Driver]) -> None:
    call = ["frameworks", "mlp", "attention", "--backends", "torch,onnxruntime", "--json", "--workers", "2"]
    driver = start(*call, *WITHOUT_END, *two_nodes.address)
    driver.wait_until(lambda: who(driver.lines) == {0, 1})
    ended = driver.interrupted()
    assert ended.code == Exit.INTERRUPTED, ended.err
    lines = driver.lines
    assert lines[-1].executions == ended.json()["executions"]
    assert len(list((driver.out / "graphs").iterdir())) >= sum(line.kept for line in lines) > 0
    assert set(fingerprints(driver.out)) == {one for line in lines for one in line.findings}


# One worker


def test_one_worker_writes_the_journal_of_one_process_also_when_the_campaign_is_killed(
    head: Nodes, start: Callable[..., Driver], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First with a Ray of the campaign's own, which ends with it, and then on a cluster."""
    monkeypatch.chdir(place)
    whole, call = tmp_path / "whole", [*CALL, "--threads", "1", "--executions", "24000"]
    assert in_this_process(*call, "--out", str(whole)).code == Exit.FINDINGS
    driver = start(*call, "--workers", "1")
    driver.wait_until(lambda: len(driver.lines) > 100)
    started = crew_below(psutil.Process(driver.process.pid))  # Ray's own agents, besides, take a minute to end
    assert len(started) == 1
    assert len(driver.lines) < len(lines_of(whole))
    driver.kill()
    wait_for(lambda: not any(is_alive(one) for one in started))
    ended = start(*call, *head.address).ended()
    assert ended.code == Exit.FINDINGS, ended.err
    assert (driver.out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
    assert fingerprints(driver.out) == fingerprints(whole)


@only_in_soak
def test_one_worker_writes_the_journal_of_one_process_of_frameworks_too(
    start: Callable[..., Driver], tmp_path: Path
) -> None:
    call = ["frameworks", "mlp", "attention", "--backends", "torch,onnxruntime", "--executions", "150", "--json"]
    whole = tmp_path / "whole"
    alone = in_this_process(*call, "--out", str(whole))
    driver = start(*call, "--workers", "1")
    ended = driver.ended()
    assert ended.code == alone.code, ended.err
    assert (driver.out / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
    assert fingerprints(driver.out) == fingerprints(whole)


def is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


# What cannot work


def test_an_address_that_does_not_answer_is_told_in_one_line(start: Callable[..., Driver], tmp_path: Path) -> None:
    with socket.socket() as silent, socket.socket() as closed:
        for one in (silent, closed):
            one.bind(("127.0.0.1", 0))
        silent.listen()
        ports = [one.getsockname()[1] for one in (silent, closed)]
        drivers = [start(*CALL, "--ray-address", f"127.0.0.1:{port}", out=tmp_path / str(port)) for port in ports]
        for port, driver in zip(ports, drivers, strict=True):
            ended = driver.ended()
            assert ended.code == Exit.USAGE, ended.err
            (line,) = ended.err.splitlines()
            assert f"--ray-address 127.0.0.1:{port}: " in line and "check" in line
            assert not driver.out.exists()


def test_without_ray_one_line_names_the_extra(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    for asked in (["--workers", "2"], ["--ray-address", "127.0.0.1:1"]):
        ended = in_this_process(*CALL, *asked, "--out", str(tmp_path / "out"))
        assert ended.code == Exit.USAGE
        (line,) = ended.err.splitlines()
        assert "need Ray, which is not installed: pip install 'jostle[ray]'" in line
    assert not (tmp_path / "out").exists()


def test_one_process_is_the_default_and_does_not_import_ray(place: Path, tmp_path: Path) -> None:
    call = [*CALL, "--executions", "400", "--out", str(tmp_path / "out")]
    script = (
        "import sys\nfrom jostle.cli.main import main\ntry:\n    main()\nexcept SystemExit as left:\n"
        "    print(left.code, [name for name in sys.modules if name.partition('.')[0] == 'ray'], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *call], cwd=place, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == f"{int(Exit.FINDINGS)} []"
    assert "workers" not in json.loads(done.stdout)
    assert all(line.by is None for line in lines_of(tmp_path / "out"))

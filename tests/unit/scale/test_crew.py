"""A campaign and its workers, all in this process: real workers with real models, and only Ray is left out.

Calls are answered one by one, in an order that chance draws, so that a campaign sees workers that are ahead of each
other, answers of several at once, and deaths in between.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import jostle
from jostle.errors import JostleError, UsageError
from jostle.isolation import orphans
from jostle.randomness import randomness
from jostle.records import Bug, Candidates, Seeds
from jostle.scale import crew, pace
from jostle.scale.cluster import WorkerLost
from jostle.scale.crew import BEGIN, MOST_DEATHS, REFUSED, ROUND, ROUNDS_AHEAD
from jostle.scale.parcel import Parcel
from jostle.scale.requests import RoundRequest
from jostle.scale.step_parcels import StepParcels
from jostle.session import assemble as assembling
from jostle.session import crew_member
from jostle.session.crew_member import CrewMember
from jostle.session.hiring import Hiring
from jostle.session.session import Session
from jostle.step_records import DoneStep, Summary
from jostle.storage.findings import recorded
from jostle.storage.history import read_kept
from jostle.storage.journal import JournalLine, read_journal
from jostle.storage.repair import entries_path
from jostle.zoo import mnist_sample
from making import options, seeds_of

EXECUTIONS = 700
SEEDS = 12
STEP_SECONDS = 0.01  # that a step takes by the clock of workers
PATIENCE = 1000  # turns in which nobody answers
NAMES = tuple(f"seed {i}" for i in range(SEEDS))
# Eight classes that lie close to each other, so that there are many pairs of labels to find.
MODEL = """
import torch


class Voting(torch.nn.Module):
    def forward(self, inputs):
        return inputs @ torch.sin(torch.arange(48.0) * 1.7).reshape(6, 8)
"""
VECTORS = {"model": "voting.py:Voting", "seeds": "vectors.npz", "oracle": ["flip"], "threshold": 0.05, "sigma": 0.3}
IMAGES = {"model": "jostle.zoo:lenet5", "seeds": "images.npz"}
Dies = Callable[["Call"], bool]


@dataclass(eq=False)
class Call:
    """Something that a worker was asked."""

    worker: WorkerHere
    method: str
    content: bytes
    shared: tuple[bytes, ...] = ()
    done: bool = False
    answer: bytes | None = None  # of what was done, None if the worker is lost


@dataclass(eq=False)
class WorkerHere:
    """A worker that answers when the cluster has it do so."""

    number: int
    cluster: ClusterHere
    member: CrewMember
    dead: bool = False
    answered: int = 0  # rounds

    def call(self, method: str, content: bytes, *shared: bytes) -> Call:
        asked = Call(self, method, content, shared)
        self.cluster.asked(asked)
        return asked

    def end(self) -> None:
        self.dead = True


@dataclass
class ClusterHere:
    """Workers in this process, whose answers come in an order that chance draws."""

    chance: random.Random = field(default_factory=lambda: random.Random(0))
    dies: Dies = lambda call: False  # instead of answering
    places: int | None = None  # for workers in all of the campaign's time; those beyond wait for one for ever
    at_once: bool = False  # whoever is asked answers, although nobody may hear of it for a while
    idle: int = 0  # turns in a row in which nobody could answer
    processors: int = 2
    free: int = 100
    workers: list[WorkerHere] = field(default_factory=list)
    queues: dict[WorkerHere, deque[Call]] = field(default_factory=lambda: defaultdict(deque))
    log: list[tuple[str, Any]] = field(default_factory=list)  # what was asked, heard and taken, in order
    closed: bool = False

    def start(self, number: int) -> WorkerHere:
        worker = WorkerHere(number, self, CrewMember(number))
        self.workers.append(worker)
        return worker

    def share(self, content: bytes) -> bytes:
        return content

    def asked(self, call: Call) -> None:
        self.log.append(("asked", call))
        self.queues[call.worker].append(call)
        if self.at_once and call.worker in self.workers[: self.places]:
            self._do(call)

    def first_ready(self, calls: Sequence[Call], seconds: float) -> list[Call]:
        placed = self.workers[: self.places]
        calls = [call for call in calls if call.worker in placed]
        if not seconds:  # there is no time to answer now
            return [call for call in calls if call.done]
        self.idle = 0 if calls else self.idle + 1
        assert self.idle < PATIENCE, "the campaign waits for nothing but a worker that has no place"
        if not calls:
            return []
        some = self.chance.sample(list(calls), self.chance.randint(1, len(calls)))
        for call in some:
            if not call.done:
                self._do(call)
        return some

    def _do(self, call: Call) -> None:
        assert self.queues[call.worker].popleft() is call, "a worker answers in the order in which it was asked"
        call.done = True
        if self.dies(call):
            call.worker.dead = True
            self.queues.pop(call.worker)
        if not call.worker.dead:
            call.answer = getattr(call.worker.member, call.method)(call.content, *call.shared)
            call.worker.answered += call.method == ROUND

    def answer(self, call: Call) -> bytes:
        if call.answer is None:
            raise WorkerLost("it was killed")
        self.log.append(("heard", call))
        return call.answer

    def close(self) -> None:
        self.closed = True

    def heard(self, seeds: Seeds) -> list[tuple[Call, list[DoneStep]]]:
        """All rounds that were handed over, with their steps."""
        parcels = StepParcels(seeds)
        heard = [call for what, call in self.log if what == "heard" and call.method == ROUND]
        return [(call, parcels.round_in(Parcel.decoded(call.answer or b"")).steps) for call in heard]


def few_seeds(images: bool = False) -> Seeds:
    if images:
        digits, labels = mnist_sample()
        return Seeds(digits[:SEEDS], labels[:SEEDS], NAMES)
    return seeds_of(torch.rand(SEEDS, 6, generator=randomness(3, 3)))


class Ticking:
    """A clock of workers that goes on each time it is looked at: a round has the same steps on every machine."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += STEP_SECONDS
        return self._now


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Short rounds, so that a campaign of a second has many."""
    monkeypatch.setattr(crew_member, "time", Ticking())
    monkeypatch.setattr(pace, "ROUND_SECONDS", 3 * STEP_SECONDS)
    monkeypatch.setattr(crew, "BULLETIN_SECONDS", 0.01)
    monkeypatch.setattr(pace, "SOON", STEP_SECONDS)
    monkeypatch.setattr(pace, "ROUNDS_A_SECOND", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where workers have their folders
    assert orphans.new_folder().parent == tmp_path


@dataclass
class Crewed:
    """Campaigns in one folder, each with workers in this process."""

    folder: Path
    patch: pytest.MonkeyPatch

    def session(self, cluster: ClusterHere | None, workers: int = 2, **chosen: Any) -> Session:
        """Without a cluster the campaign does its steps itself."""
        self.patch.setattr(assembling, "hire", lambda _: Hiring() if cluster is None else Hiring(cluster, workers))
        given = {"out": str(self.folder), "batch": 16, "threads": 1, "executions": EXECUTIONS}
        crew = {} if cluster is None else {"workers": workers}
        return assembling.assemble(options(**{**given, **crew, **({} if "model" in chosen else VECTORS), **chosen}))

    def run(self, cluster: ClusterHere | None, workers: int = 2, **chosen: Any) -> Summary:
        return self.run_session(self.session(cluster, workers, **chosen), cluster)

    def run_session(self, session: Session, cluster: ClusterHere | None) -> Summary:
        log = [] if cluster is None else cluster.log
        with session.closed_after():
            summary = session.search([lambda record: log.append(("taken", record.by))])
            session.archive.conclude(summary)
        assert cluster is None or cluster.closed
        return summary

    @property
    def journal(self) -> bytes:
        return (self.folder / "journal.jsonl").read_bytes()

    @property
    def lines(self) -> tuple[JournalLine, ...]:
        return read_journal(self.folder / "journal.jsonl").lines

    @property
    def fingerprints(self) -> list[str]:
        return [record.fingerprint for _, record in recorded(self.folder / "findings")]


@pytest.fixture
def crewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crewed:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "voting.py").write_text(MODEL)
    np.savez(tmp_path / "vectors.npz", x=few_seeds().inputs.numpy())
    np.savez(tmp_path / "images.npz", x=few_seeds(images=True).inputs.numpy(), y=few_seeds(images=True).labels.numpy())
    return Crewed(tmp_path / "campaign", monkeypatch)


def check_folder(crewed: Crewed, seeds: Seeds | None = None) -> None:
    """What is true of the folder of any campaign with several workers."""
    lines = crewed.lines
    assert lines[-1].executions <= EXECUTIONS
    told = [one for line in lines for one in line.findings]
    assert len(set(told)) == len(told) and sorted(crewed.fingerprints) == sorted(told)
    by = [line.by for line in lines[1:]]
    assert lines[0].by is None and None not in by and len(set(by)) == len(by)
    kept = read_kept(crewed.folder, seeds or few_seeds())
    assert len(kept) == sum(line.kept for line in lines)
    assert bool((kept.parents < torch.arange(len(kept))).all())


def check_parents(crewed: Crewed, clusters: Sequence[ClusterHere], seeds: Seeds | None = None) -> None:
    """Every entry's parent is what its worker had made it from: the same input, by the ids of the worker's corpus."""
    seeds = seeds or few_seeds()
    kept = read_kept(crewed.folder, seeds)
    steps = {
        (call.worker.number, done.by.step): (call.worker, done)
        for cluster in clusters
        for call, handed_over in cluster.heard(seeds)
        for done in handed_over
        if done.by is not None
    }
    compared = 0
    for line, first in with_entries_before(crewed.lines):
        if not line.kept or line.by is None:
            continue
        worker, done = steps[line.by.worker, line.by.step]
        ours = kept.select(torch.arange(first, first + line.kept))
        assert torch.equal(ours.inputs, done.kept.inputs) and ours.mutations == done.kept.mutations
        assert torch.equal(parent_inputs(kept, ours), parent_inputs(corpus_of(worker), done.kept))
        compared += line.kept
    assert compared > 20


def check_rounds(cluster: ClusterHere, seeds: Seeds | None = None) -> None:
    """At most two rounds are asked of a worker whose steps are not in the folder yet."""
    parcels, open_rounds = StepParcels(seeds or few_seeds()), Counter[WorkerHere]()
    missing: dict[WorkerHere, deque[set[Any]]] = defaultdict(deque)  # steps of rounds that were heard, not yet taken
    most = 0
    for what, one in cluster.log:
        if what == "asked" and one.method == ROUND:
            open_rounds[one.worker] += 1
            most = max(most, open_rounds[one.worker])
        elif what == "heard" and one.method == ROUND:
            steps = parcels.round_in(Parcel.decoded(one.answer)).steps
            missing[one.worker].append({done.by for done in steps})
        elif what == "taken":
            for rounds in missing.values():
                for steps in rounds:
                    steps.discard(one)
        for worker, rounds in missing.items():
            while rounds and not rounds[0]:
                rounds.popleft()
                open_rounds[worker] -= 1
    assert most == ROUNDS_AHEAD


def with_entries_before(lines: Sequence[JournalLine]) -> list[tuple[JournalLine, int]]:
    """Each line with how many entries there were before."""
    first, found = 0, []
    for line in lines:
        found.append((line, first))
        first += line.kept
    return found


def corpus_of(worker: WorkerHere) -> Candidates:
    corpus = worker.member._composed.campaign.corpus
    return corpus.select(torch.arange(len(corpus)))


def parent_inputs(corpus: Candidates, rows: Candidates) -> torch.Tensor:
    return corpus.inputs[rows.parents]


def dying(chance: random.Random, share: float) -> Dies:
    """Some of the rounds of workers that have done one before, so that nobody dies for nothing too often."""
    return lambda call: call.method == ROUND and call.worker.answered > 0 and chance.random() < share


# One worker


ALONE = {
    "tensorfuzz": VECTORS,
    "deephunter": {**IMAGES, "recipe": "deephunter", "ranges": "paper"},
    "dlfuzz": {**IMAGES, "recipe": "dlfuzz"},
}


@pytest.mark.parametrize(
    "recipe", ["tensorfuzz", *(pytest.param(name, marks=pytest.mark.slow) for name in ("deephunter", "dlfuzz"))]
)
def test_one_worker_writes_the_journal_of_a_campaign_without(recipe: str, crewed: Crewed, tmp_path: Path) -> None:
    """Also where the worker dies and the campaign is begun again in between."""
    whole = EXECUTIONS if recipe == "tensorfuzz" else 300
    alone, chosen = Crewed(tmp_path / "alone", crewed.patch), {**ALONE[recipe], "executions": whole}
    alone.run(None, **chosen)
    session = crewed.session(first := ClusterHere(dies=dying(random.Random(1), 0.5)), workers=1, **chosen)
    with session.closed_after():
        session.search([lambda record: session.campaign.stop() if record.step == 5 else None])
    again = ClusterHere(dies=dying(random.Random(2), 0.5))
    crewed.run(again, workers=1, **chosen)
    assert crewed.journal == alone.journal and sorted(crewed.fingerprints) == sorted(alone.fingerprints)
    assert len(first.workers) + len(again.workers) > 2  # some died


# Several


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_together_do_what_the_campaign_may_and_no_more(crewed: Crewed, workers: int) -> None:
    cluster = ClusterHere()
    summary = crewed.run(cluster, workers)
    assert summary.executions == EXECUTIONS == crewed.lines[-1].executions
    ran = sum(done.ran for _, steps in cluster.heard(few_seeds()) for done in steps)
    assert ran == EXECUTIONS - SEEDS  # nothing was run that does not count
    assert {line.by.worker for line in crewed.lines if line.by} == set(range(workers))
    assert summary.workers is not None and summary.workers.lost == 0 and len(summary.workers.rates) == workers
    check_folder(crewed)
    check_parents(crewed, [cluster])
    check_rounds(cluster)


@pytest.mark.parametrize("order", range(3))
def test_every_entry_descends_from_the_entry_that_its_worker_made_it_of(order: int, crewed: Crewed) -> None:
    cluster = ClusterHere(random.Random(order))
    crewed.run(cluster, workers=3)
    check_folder(crewed)
    check_parents(crewed, [cluster])
    check_rounds(cluster)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["deephunter", "dlfuzz"])
def test_images_that_were_moved_and_steps_made_ahead_are_shared_too(recipe: str, crewed: Crewed) -> None:
    cluster, seeds = ClusterHere(), few_seeds(images=True)
    crewed.run(cluster, **ALONE[recipe], executions=400)
    check_folder(crewed, seeds)
    check_parents(crewed, [cluster], seeds)
    check_rounds(cluster, seeds)


@pytest.mark.parametrize("order", range(3))
def test_workers_that_die_are_replaced_and_nothing_that_was_handed_over_is_lost(order: int, crewed: Crewed) -> None:
    cluster = ClusterHere(random.Random(order), dying(random.Random(order), 0.2))
    summary = crewed.run(cluster, workers=3)
    assert summary.workers is not None and summary.workers.lost == sum(one.dead for one in cluster.workers) > 0
    assert summary.executions == EXECUTIONS
    handed_over = [done for _, steps in cluster.heard(few_seeds()) for done in steps]
    assert {done.by for done in handed_over} == {line.by for line in crewed.lines[1:]}
    found = {one.violation.fingerprint for done in handed_over for one in done.findings}
    assert found == set(crewed.fingerprints) != set()
    check_folder(crewed)
    check_parents(crewed, [cluster])
    check_rounds(cluster)


def test_a_campaign_that_goes_on_repeats_nothing_of_any_worker(crewed: Crewed) -> None:
    first, second = ClusterHere(random.Random(1)), ClusterHere(random.Random(2))
    crewed.run(first, executions=EXECUTIONS // 2)
    begun = crewed.journal
    crewed.run(second, workers=3)
    assert crewed.journal.startswith(begun) and crewed.lines[-1].executions == EXECUTIONS
    check_folder(crewed)
    check_parents(crewed, [first, second])


def test_a_finding_whose_step_was_cut_off_counts_in_a_campaign_that_goes_on(crewed: Crewed) -> None:
    """It was safe before its step was: nobody does again what a worker did, so nobody might find it again."""
    crewed.run(ClusterHere(), executions=EXECUTIONS // 2)
    journal, found = crewed.folder / "journal.jsonl", crewed.fingerprints
    raw, last = (
        journal.read_bytes().splitlines(keepends=True),
        max(at for at, one in enumerate(crewed.lines) if one.findings),
    )
    cut_off = set(crewed.lines[last].findings)
    journal.write_bytes(b"".join(raw[:last]))
    summary = crewed.run(ClusterHere())
    assert set(found) <= set(crewed.fingerprints) and len(set(crewed.fingerprints)) == len(crewed.fingerprints)
    assert sum(summary.findings.values()) == len(crewed.fingerprints)
    assert cut_off.isdisjoint(one for line in crewed.lines for one in line.findings)


def test_a_campaign_of_several_workers_goes_on_without_them_and_with_one(crewed: Crewed) -> None:
    crewed.run(ClusterHere(), executions=250)
    crewed.run(ClusterHere(), workers=1, executions=450)
    crewed.run(None)
    lines = crewed.lines
    assert lines[-1].executions == EXECUTIONS
    told = [one for line in lines for one in line.findings]
    assert sorted(told) == sorted(set(crewed.fingerprints))


def test_what_one_worker_kept_and_found_the_others_know(crewed: Crewed) -> None:
    cluster = ClusterHere()
    summary = crewed.run(cluster)
    kept = read_kept(crewed.folder, few_seeds())
    for worker in cluster.workers:
        theirs = {bytes(row.numpy()) for row in corpus_of(worker).inputs}
        assert theirs <= {bytes(row.numpy()) for row in kept.inputs}
        own = [line.kept for line in crewed.lines if line.by and line.by.worker == worker.number]
        assert len(theirs) == SEEDS + sum(own)  # it goes on from what it kept itself, and knows of more points
        assert worker.member._composed.campaign.summary().coverage["nearest"]["points"] > len(theirs)
    parcels, told_of = StepParcels(few_seeds()), defaultdict[WorkerHere, set[Bug]](set)
    for call, steps in cluster.heard(few_seeds()):
        known = told_of[call.worker]
        known |= {bug for one in call.shared for bug in parcels.news_in(Parcel.decoded(one)).bugs}
        assert known.isdisjoint((one.violation.kind, one.bug) for done in steps for one in done.findings)
    assert all(told_of[worker] for worker in cluster.workers) and summary.findings


OWN_CRITERION = """
import torch


class Larger:
    def __init__(self):
        self.sums = []

    def assess(self, candidates, trace):
        assert candidates.inputs.shape[1:] == (6,), "inputs are told to whoever may look at them"
        sums = [round(float(row.sum()), 1) for row in candidates.inputs]
        new = [one not in self.sums and one not in sums[:place] for place, one in enumerate(sums)]
        self.sums += sums
        return torch.tensor(new).float()

    def coverage(self):
        return {"larger": {"sums": len(set(self.sums))}}


class ByAnswer(Larger):
    looks_at_inputs = False

    def assess(self, candidates, trace):
        return torch.zeros(len(candidates.roots))
"""


@pytest.mark.parametrize(("criterion", "width"), [("Larger", 6), ("ByAnswer", 0)])
def test_a_criterion_of_a_users_own_sees_the_inputs_that_others_kept_unless_it_wants_none(
    criterion: str, width: int, crewed: Crewed, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN_CRITERION)
    cluster = ClusterHere()
    crewed.run(cluster, coverage=("nearest", f"own.py:{criterion}"))
    check_folder(crewed)
    parcels = StepParcels(few_seeds())
    told = [parcels.news_in(Parcel.decoded(one)).kept for call, _ in cluster.heard(few_seeds()) for one in call.shared]
    assert {kept.inputs.shape[1] for kept in told if len(kept)} == {width}


def test_workers_keep_no_more_than_the_campaign_has_time_for(crewed: Crewed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step begins with room or keeps nothing, so a round is at most a step beyond what it was allowed."""
    allowed = itertools.cycle([2, 0, 0])
    monkeypatch.setattr(pace.Pace, "allow", lambda self, seconds, now: next(allowed))
    cluster = ClusterHere()
    summary = crewed.run(cluster)
    kept = Counter[int]()
    for call, steps in cluster.heard(few_seeds()):
        room = RoundRequest.of(Parcel.decoded(call.content)).room
        assert room is not None, "several workers are bounded"
        kept[room] += sum(len(done.kept) for done in steps)
        assert all(len(done.kept) < room + 16 for done in steps)
    assert summary.executions == EXECUTIONS and kept[2] > 0 == kept[0]
    assert summary.workers is not None and 0.3 < summary.workers.unassessed < 1
    check_folder(crewed)


def test_what_a_worker_was_allowed_is_settled_once_also_if_it_dies(
    crewed: Crewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed, settled = Counter[int](), Counter[int]()
    allow, kept = pace.Pace.allow, pace.Pace.kept

    def allowing(self: pace.Pace, seconds: float, now: float) -> int | None:
        room = allow(self, seconds, now)
        assert room is not None, "several workers are bounded"
        allowed[room] += 1
        return room

    def settling(self: pace.Pace, entries: int, room: int | None) -> None:
        if room is not None:
            settled[room] += 1
        kept(self, entries, room)

    monkeypatch.setattr(pace.Pace, "allow", allowing)
    monkeypatch.setattr(pace.Pace, "kept", settling)
    cluster = ClusterHere(dies=dying(random.Random(1), 0.3))
    summary = crewed.run(cluster, workers=3)
    assert summary.workers is not None and summary.workers.lost > 0
    assert allowed == settled and allowed.total() > 10


def test_what_entries_cost_is_measured_at_the_campaign_and_at_workers(
    crewed: Crewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is taken over, and all that workers are told of others."""
    monkeypatch.setattr(pace, "GUESSED", 1)
    cluster = ClusterHere()
    session = crewed.session(cluster)
    crewed.run_session(session, cluster)
    rounds = cluster.heard(few_seeds())
    measured, guess = session.campaign._crew._pace, 1  # type: ignore[union-attr]
    kept = sum(len(done.kept) for _, steps in rounds for done in steps)
    parcels = StepParcels(few_seeds())
    news = [
        parcels.news_in(Parcel.decoded(one)).of_others(call.worker.number) for call, _ in rounds for one in call.shared
    ]
    assert measured.taken.entries == guess + kept and measured.told.entries == guess + sum(
        len(one.kept) for one in news
    )
    assert measured.told.messages == 2 + len(rounds) and measured.told.seconds > 0 < measured.taken.seconds


@pytest.mark.parametrize("longer", [100, 5])
def test_a_round_ends_soon_after_something_was_found(longer: int, crewed: Crewed) -> None:
    """So that it is safe soon; a round that has found nothing goes on."""
    crewed.patch.setattr(pace, "ROUND_SECONDS", longer * STEP_SECONDS)
    crewed.patch.setattr(pace, "FIRST_ROUND_SECONDS", longer * STEP_SECONDS)
    crewed.patch.setattr(pace, "SOON", 0.0)
    cluster = ClusterHere()
    crewed.run(cluster, executions=None, findings=3)
    found = [steps for _, steps in cluster.heard(few_seeds()) if any(done.findings for done in steps)]
    for (done,) in found:  # the steps of a round are joined: the one that found something was the last
        assert {one.step for one in done.findings} == {done.by.step if done.by else 0}
    assert found


class FirstWorkerFirst(random.Random):
    """Has workers begin, and then the first one do all that it is asked for before another has its turn."""

    def sample(self, calls: Any, k: int, **_: Any) -> Any:
        return [min(calls, key=lambda call: (call.method == ROUND, call.worker.number))]


@pytest.mark.parametrize(("chance", "answered"), [(random.Random(0), 1), (FirstWorkerFirst(), 0)])
def test_a_worker_for_whom_there_is_no_place_any_more_holds_up_nobody(
    chance: random.Random, answered: int, crewed: Crewed
) -> None:
    """As where a machine is gone for good: all that the campaign may do is done by the others.

    Also by those who had done all that they had been allowed when it went.
    """

    def dies(call: Call) -> bool:
        return call.worker.number == 1 and call.method == ROUND and call.worker.answered == answered

    cluster = ClusterHere(chance, dies, places=2)
    summary = crewed.run(cluster)
    assert summary.executions == EXECUTIONS and len(cluster.workers) == 3
    check_folder(crewed)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_campaign_that_is_stopped_keeps_what_is_under_way(at_once: bool, crewed: Crewed) -> None:
    """Also what is done already, and was not heard of yet."""
    cluster = ClusterHere(at_once=at_once)
    session = crewed.session(cluster, workers=4)
    with session.closed_after():
        session.search([lambda record: session.campaign.stop() if record.step == 10 else None])
    handed_over = [done.by for _, steps in cluster.heard(few_seeds()) for done in steps]
    assert sorted(map(str, handed_over)) == sorted(str(line.by) for line in crewed.lines[1:])
    assert len(handed_over) >= 10 and crewed.lines[-1].executions < EXECUTIONS
    waiting = [queue for queue in cluster.queues.values() if queue]
    assert bool(waiting) != at_once and all(len(queue) == 1 for queue in waiting)  # a round not begun is not waited for
    done = [call for what, call in cluster.log if what == "asked" and call.method == ROUND and call.done]
    assert len(done) == len(cluster.heard(few_seeds()))  # and none that was done is lost


def test_a_campaign_ends_when_enough_was_found(crewed: Crewed) -> None:
    summary = crewed.run(ClusterHere(), findings=5, executions=100_000)
    assert sum(summary.findings.values()) >= 5 and summary.executions < 50_000


# What cannot work


def test_a_worker_that_dies_again_and_again_ends_the_campaign_with_one_line(crewed: Crewed) -> None:
    cluster = ClusterHere(dies=lambda call: call.worker.number == 1 and call.method == BEGIN)
    with pytest.raises(JostleError, match=f"worker 1 died {MOST_DEATHS} times in a row") as told:
        crewed.run(cluster, executions=100_000)
    assert "\n" not in str(told.value) and "what was found is safe" in str(told.value)
    assert sum(worker.number == 1 for worker in cluster.workers) == MOST_DEATHS and cluster.closed
    crewed.run(None, executions=EXECUTIONS + crewed.lines[-1].executions)
    assert sorted(crewed.fingerprints) == sorted(one for line in crewed.lines for one in line.findings)


def test_deaths_of_a_worker_that_did_something_in_between_end_nothing(crewed: Crewed) -> None:
    done = Counter[WorkerHere]()

    def every_second_round(call: Call) -> bool:
        done[call.worker] += call.method == ROUND
        return done[call.worker] == 2

    cluster = ClusterHere(dies=every_second_round)
    crewed.run(cluster)
    assert len(cluster.workers) > 2 * MOST_DEATHS and crewed.lines[-1].executions == EXECUTIONS
    check_folder(crewed)


def test_a_worker_of_another_version_is_refused_in_one_line(crewed: Crewed, monkeypatch: pytest.MonkeyPatch) -> None:
    session = crewed.session(cluster := ClusterHere())
    monkeypatch.setattr(jostle, "__version__", "0.0.0")
    with pytest.raises(UsageError, match=r"has jostle 0\.0\.0, and the campaign .*: install the same version there"):
        crewed.run_session(session, cluster)


def test_one_of_several_that_cannot_begin_at_first_is_refused_also_when_another_has_begun(
    crewed: Crewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = CrewMember.begin

    def where_it_is_missing(self: CrewMember, content: bytes) -> bytes:
        return begin(self, content) if self._number == 0 else Parcel({REFUSED: "it is not there"}).encoded()

    monkeypatch.setattr(CrewMember, "begin", where_it_is_missing)
    for order in range(5):
        with pytest.raises(UsageError, match="it is not there"):
            crewed.run(ClusterHere(random.Random(order)))


def test_a_worker_that_has_other_seeds_is_refused_in_one_line(crewed: Crewed) -> None:
    session = crewed.session(cluster := ClusterHere())
    np.savez("vectors.npz", x=1 - few_seeds().inputs.numpy())
    with pytest.raises(UsageError, match="model or seeds are others than here"):
        crewed.run_session(session, cluster)


def test_a_worker_without_the_folder_of_the_campaign_is_refused_in_one_line(
    crewed: Crewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    there = {"model": f"{tmp_path}/voting.py:Voting", "seeds": f"{tmp_path}/vectors.npz"}
    session = crewed.session(cluster := ClusterHere(), **{**VECTORS, **there})
    monkeypatch.chdir(tmp_path)
    place.rmdir()
    with pytest.raises(UsageError, match=r"is not there on .*: put model and seeds at the same place there"):
        crewed.run_session(session, cluster)


def test_a_place_where_no_worker_can_begin_ends_nothing_while_others_work(
    crewed: Crewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a machine without the model, or with a full disk, to which the place of a dead one falls."""
    begin, begun = CrewMember.begin, itertools.count()

    def where_it_is_missing(self: CrewMember, content: bytes) -> bytes:
        return Parcel({REFUSED: "it is not there"}).encoded() if next(begun) in (2, 3) else begin(self, content)

    monkeypatch.setattr(CrewMember, "begin", where_it_is_missing)
    summary = crewed.run(ClusterHere(dies=dying(random.Random(1), 0.3)))
    assert summary.executions == EXECUTIONS and next(begun) > 4
    assert summary.workers is not None and summary.workers.lost > 2
    check_folder(crewed)


def test_more_workers_than_there_is_room_for_are_warned_of(crewed: Crewed) -> None:
    session = crewed.session(ClusterHere(free=1), 2)
    session.release()
    assert sum("there is room for 1 of 2 workers now" in line for line in session.warnings) == 1


def test_more_workers_than_processors_are_warned_of_and_fewer_are_not(crewed: Crewed) -> None:
    for workers, shared in ((1, 0), (2, 0), (3, 1)):
        session = crewed.session(ClusterHere(), workers)
        session.release()
        assert sum(f"{workers} workers share 2 processors" in line for line in session.warnings) == shared
        assert any("no campaign is like another" in line for line in session.warnings) == (workers > 1)


def test_the_first_seed_stands_in_for_entries_of_several_workers_that_are_lost(crewed: Crewed) -> None:
    """Nobody can make them again: what their worker knew then is known no more."""
    crewed.run(ClusterHere(), executions=EXECUTIONS // 2)
    found = crewed.fingerprints
    line, first = next((one, first) for one, first in with_entries_before(crewed.lines) if one.by and one.kept)
    entries_path(crewed.folder, line.step).unlink()
    crewed.run(ClusterHere())
    kept = read_kept(crewed.folder, few_seeds())
    stand_ins = kept.inputs[first : first + line.kept]
    assert torch.equal(stand_ins, few_seeds().inputs[:1].expand_as(stand_ins))
    assert len(kept) == sum(one.kept for one in crewed.lines) and set(found) <= set(crewed.fingerprints)
    assert crewed.lines[-1].executions == EXECUTIONS


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["deephunter", "dlfuzz"])
def test_rounds_that_keep_an_entry_and_its_parent_are_gone_through_again(recipe: str, crewed: Crewed) -> None:
    """By a worker that takes the place of a dead one, by a campaign that goes on, and by one without workers."""
    chosen, seeds = {**ALONE[recipe], "batch": 16}, few_seeds(images=True)
    crewed.patch.setattr(pace, "ROUND_SECONDS", 8 * STEP_SECONDS)
    crewed.patch.setattr(pace, "FIRST_ROUND_SECONDS", 8 * STEP_SECONDS)
    cluster = ClusterHere(dies=dying(random.Random(3), 0.4))
    crewed.run(cluster, **chosen, executions=EXECUTIONS - 200)
    kept = read_kept(crewed.folder, seeds)
    within = [
        int(parent) >= first
        for line, first in with_entries_before(crewed.lines)
        for parent in kept.parents[first : first + line.kept]
    ]
    assert any(within) and any(one.dead for one in cluster.workers)
    crewed.run(ClusterHere(), **chosen, executions=EXECUTIONS - 100)
    crewed.run(None, **chosen)
    assert len(read_kept(crewed.folder, seeds)) == sum(line.kept for line in crewed.lines) > len(kept)
    assert crewed.lines[-1].executions == EXECUTIONS


def test_no_worker_draws_twice_what_it_has_drawn_before_in_any_run(crewed: Crewed) -> None:
    crewed.patch.setattr(pace, "ROUND_SECONDS", 8 * STEP_SECONDS)
    crewed.patch.setattr(pace, "FIRST_ROUND_SECONDS", 8 * STEP_SECONDS)
    first, second = ClusterHere(random.Random(1)), ClusterHere(random.Random(2))
    crewed.run(first, executions=EXECUTIONS // 2)
    before = [line.by.step for line in crewed.lines if line.by]
    assert max(before) > len(before)  # some rounds had several steps
    crewed.run(second)
    since = [line.by.step for line in crewed.lines if line.by][len(before) :]
    assert since and min(since) > max(before)

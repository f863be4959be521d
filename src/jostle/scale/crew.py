"""The workers of a campaign, seen from where its folder is."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.errors import JostleError, UsageError
from jostle.records import Candidates
from jostle.scale.cluster import Cluster, WorkerLost
from jostle.scale.corpus_ids import CorpusIds
from jostle.scale.folder_parcels import folder_parcels, put_files
from jostle.scale.members import AllTries, Grants, Member, Request
from jostle.scale.pace import Pace
from jostle.scale.parcel import Parcel
from jostle.scale.requests import BeginRequest, RoundFigures, RoundRequest, WorkerSetup
from jostle.scale.step_parcels import News, StepParcels, only_roots
from jostle.step_records import DoneStep, Standing, Tries, WorkersSoFar
from jostle.storage.own_folders import GRAPHS

ROUNDS_AHEAD = 2  # of each worker: one that it does, and one for when it is done with that
MOMENT = 0.2  # seconds to wait for an answer
BULLETIN_SECONDS = 0.1  # in which all that is new is told as one
MOST_DEATHS = 10  # of a worker in a row, none of which has done a round
RECEIVE, BEGIN, ROUND = "receive", "begin", "round"  # methods of workers
REFUSED, FAILED = "refused", "failed"  # fields of an answer: what the user must mend, what went wrong besides


@dataclass(frozen=True)
class Work:
    """What workers begin with."""

    setup: WorkerSetup
    executions: int | None  # that the campaign may have in all
    batch: int  # executions of a step
    folder: Path  # of the campaign
    files: tuple[str, ...]  # of that folder, besides the journal, the corpus and models
    written: Callable[[], None]  # returns when all steps so far are in the folder


class RemoteCrew:
    """Several workers that each do steps of their own, and are told what the others found.

    A worker does a round of steps, answers with all that came of it, and goes on with the next round at once. One more
    is asked of it when what an earlier one found is safe, so at most two rounds are lost with a worker that dies.
    """

    def __init__(self, cluster: Cluster, workers: int, parcels: StepParcels, work: Work):
        self._cluster, self._workers, self._parcels, self._work = cluster, workers, parcels, work
        self._members: list[Member] = []
        self._steps: deque[tuple[Member, DoneStep]] = deque()
        self._given: Member | None = None  # whose step was given last
        self._news: list[News] = []  # that nobody was told yet
        self._published = 0.0  # when somebody was, by the clock
        self._grants, self._pace = Grants(None), Pace.guessed(workers, work.batch, parcels.input_bytes)
        self._ready: deque[Member] = deque()  # who has answered what it was asked first
        self._turn_began, self._turn_kept = 0.0, 0  # of the round that is taken over, by this thread's processor
        self._tries = AllTries()
        self._stopping = False
        self._failure: JostleError | None = None  # to be raised when all else was taken over
        self._began: float | None = None  # when the first worker had begun, by the clock
        self._gone: list[RoundFigures] = []  # of workers that died
        self._files: list[Any] = []  # of the folder, for all who begin before another step is given
        self._handed_over = 0  # executions
        self._duplicates = self._lost = 0
        self._lost_seconds = 0.0

    def begin(self, standing: Standing) -> None:
        self._standing, self._entries, self._executions = standing, standing.entries, standing.executions
        self._bugs, self._flaky = set(standing.bugs), set(standing.flaky)
        if self._work.executions is not None:
            self._grants.left = max(0, self._work.executions - standing.executions)
        self._members = [self._hired(number) for number in range(self._workers)]

    def begun(self) -> bool:
        return self._began is not None

    def next_step(self) -> DoneStep | None:
        self._ask_on()
        if not self._steps:
            self._hear()
        if not self._steps:
            self._raise_failure()
            return None
        self._files = []
        self._given, done = self._steps.popleft()
        self._executions += done.ran
        self._handed_over += done.ran
        first, self._entries = self._entries, self._entries + len(done.kept)
        self._given.ids.add(torch.arange(first, self._entries))
        return _in_campaigns_ids(self._given.ids, done)

    def spread(self, done: DoneStep, new: Tensor) -> None:
        assert self._given is not None, "a step was given before"
        bugs, flaky = ({(one.violation.kind, one.bug) for one in some} for some in (done.findings, done.flaky))
        self._bugs |= bugs
        self._flaky |= flaky
        self._duplicates += int((~new).sum())
        if self._workers > 1 and (new.any() or bugs or flaky):
            rows, kept = new.nonzero().squeeze(1), done.kept
            by = torch.full((len(rows),), self._given.number)
            whole = self._standing.looks_at_inputs
            told = kept.select(rows) if whole else only_roots(kept.seeds, kept.roots[rows])
            self._news.append(News(by, told, done.trace.select(rows), bugs, flaky, inputs_told=whole))

    def over(self) -> bool:
        return not self._steps and self._failure is None and self._nothing_comes()

    def stop(self) -> None:
        """Whoever is at work does the round that it is at, and nobody waits for another."""
        if self._stopping:
            return
        self._stopping = True
        first = self._first_calls()
        answered = self._cluster.first_ready(list(first), 0.0) if first else ()
        for answer, member in first.items():
            begun = 2 if answer in answered else 1  # whoever has answered is at the next call already
            while len(member.calls) > begun:
                member.calls.pop()

    def tries(self) -> Mapping[str, Tries]:
        return self._tries.total()

    def counts(self) -> Counter[str]:
        """What workers counted besides steps, by name."""
        return sum((Counter(figures.counts) for figures in self._figures()), Counter[str]())

    def so_far(self) -> WorkersSoFar:
        now = time.monotonic()
        every = self._figures()
        elapsed = sum(one.elapsed for one in every)
        return WorkersSoFar(
            rates={member.number: member.rate for member in self._members if member.begun},
            oldest=max((now - member.heard for member in self._members if member.begun and member.calls), default=0.0),
            synchronising=1 - sum(one.busy for one in every) / elapsed if elapsed else 0.0,
            unassessed=sum(one.unassessed for one in every) / max(1, self._handed_over),
            duplicates=self._duplicates,
            lost=self._lost,
            lost_seconds=self._lost_seconds,
        )

    def _figures(self) -> list[RoundFigures]:
        """Of all workers that there were."""
        return [*self._gone, *(member.figures for member in self._members)]

    def _folder_files(self) -> list[Any]:
        """All that a worker begins from, where any number of them can get it; read once for all who begin together."""
        if not self._files:
            self._work.written()
            parcels = folder_parcels(self._work.folder, *self._work.files)
            self._files = [self._cluster.share(parcel.encoded()) for parcel in parcels]
        return self._files

    def _hired(self, number: int, deaths: int = 0) -> Member:
        """A worker that begins from all that is in the campaign's folder; it gets work when it has begun."""
        self._publish()  # to those that were there before
        files, now = self._folder_files(), time.monotonic()
        handle, ids = self._cluster.start(number), CorpusIds(self._entries)
        member = Member(number, handle, ids, self._executions, deaths, heard=now)
        for file in files:
            self._call(member, RECEIVE, Parcel(), file)
        begin = BeginRequest(
            setup=self._work.setup,
            seconds=self._standing.seconds + (0.0 if self._began is None else now - self._began),
            executions=self._work.executions if self._workers == 1 else self._executions,
            bugs=sorted(self._bugs),
            flaky=sorted(self._flaky),
            workers=self._workers,
        )
        self._call(member, BEGIN, begin.parcel)
        return member

    def _call(self, member: Member, method: str, parcel: Parcel, *shared: Any, room: int | None = None) -> None:
        answer = member.handle.call(method, parcel.encoded(), *shared)
        member.calls.append(Request(method, answer, time.monotonic(), room))

    def _ask(self, member: Member) -> None:
        """Asks for as many rounds as a worker may be ahead, unless there is nothing left for it to do."""
        while not self._stopping and member.ready and member.asked(ROUND) < ROUNDS_AHEAD:
            longest, seconds = self._pace.longest_round, self._pace.round_seconds(member.rounds)
            executions = self._grants.lease(member, self._work.batch, self._workers, longest)
            if executions is not None and member.granted <= member.ran:
                return
            room = self._pace.allow(seconds, time.monotonic())
            asked = RoundRequest(executions, seconds, self._pace.soon, room)
            self._call(member, ROUND, asked.parcel, *member.news, room=room)
            member.news.clear()
            member.rounds += 1

    def _ask_everybody(self) -> None:
        """What somebody gave back is there for the others."""
        for member in self._members:
            self._ask(member)

    def _first_calls(self) -> dict[Any, Member]:
        """Whoever has not answered all that it was asked, by the answer that comes next."""
        return {member.calls[0].answer: member for member in self._members if member.calls}

    def _ask_on(self) -> None:
        """What was given before is safe by now; once all of its round was, its worker goes on."""
        member, self._given = self._given, None
        if member is None or any(other is member for other, _ in self._steps):
            return
        if time.monotonic() - self._published >= BULLETIN_SECONDS:
            self._publish()
        if member in self._members:
            self._ask(member)
        self._pace.taken.add(self._turn_kept, time.thread_time() - self._turn_began)

    def _publish(self) -> None:
        """Tells all workers what is new since they were last told, with the next round that they are asked for."""
        if not self._news:
            return
        bulletin = self._cluster.share(self._parcels.of_news(News.joined(self._news)).encoded())
        self._news, self._published = [], time.monotonic()
        for member in self._members:
            if not member.figures.exhausted:
                member.news.append(bulletin)

    def _hear(self) -> None:
        """Takes answers that there are, or that come within a moment, until one has steps."""
        if not self._ready:
            asked = self._first_calls()
            ready = self._cluster.first_ready(list(asked), MOMENT) if asked else ()
            self._ready.extend(asked[answer] for answer in ready)
        while self._ready and not self._steps:  # those that are not heard yet keep, and would take memory
            member = self._ready.popleft()
            if member in self._members:
                self._hear_of(member)

    def _hear_of(self, member: Member) -> None:
        """Takes the answer that a worker has given, or that it is gone."""
        self._turn_began = time.thread_time()
        call = member.calls[0]
        try:
            parcel = Parcel.decoded(self._cluster.answer(call.answer))
        except WorkerLost as lost:
            self._replace(member, lost)
            return
        failure = _failure_in(parcel)
        if failure is not None and call.method != ROUND and member.deaths:
            self._replace(member, WorkerLost(str(failure)))  # what is wrong where its place is taken ends nobody else
            return
        member.calls.popleft()
        if failure is None:
            self._heard(member, call, parcel)
        else:
            self._fail(member, failure)

    def _heard(self, member: Member, call: Request, parcel: Parcel) -> None:
        """Takes an answer."""
        member.heard = time.monotonic()
        if call.method == BEGIN:
            self._began = self._began or member.heard
            member.begun = True
            self._ask(member)
        elif call.method == ROUND:
            self._take(member, call, parcel)

    def _take(self, member: Member, call: Request, parcel: Parcel) -> None:
        """Takes a round of steps."""
        done = self._parcels.round_in(parcel)
        put_files(done.files, self._work.folder, (GRAPHS,))
        member.figures, member.deaths = done.figures, 0
        member.ran += sum(step.ran for step in done.steps)
        self._turn_kept = sum(len(step.kept) for step in done.steps)
        self._pace.told.add(done.figures.told, done.figures.taking_in)
        self._pace.kept(self._turn_kept, call.room)
        self._tries.tell(member.number, done.figures.tries)
        self._steps.extend((member, step) for step in done.steps)
        if done.figures.exhausted:
            self._grants.give_back(member)
            self._ask_everybody()
        elif not done.steps:
            self._ask(member)

    def _nothing_comes(self) -> bool:
        """Whether nobody is at work, and nobody will be who is still beginning."""
        at_work = any(member.calls for member in self._members if member.begun)
        beginning = any(not member.begun for member in self._members)
        return not at_work and (self._stopping or not beginning or self._grants.left == 0)

    def _fail(self, member: Member, failure: JostleError) -> None:
        """Ends the campaign, but only after what others have done is taken over."""
        self._failure = self._failure or failure
        self._members.remove(member)
        self.stop()

    def _raise_failure(self) -> None:
        if self._failure is not None and self._nothing_comes():
            raise self._failure

    def _replace(self, member: Member, lost: WorkerLost) -> None:
        """Starts another worker in the place of one that is gone, of which a bounded time of work is lost."""
        member.handle.end()
        self._lost += 1
        self._lost_seconds += time.monotonic() - member.calls[0].at if member.begun else 0.0
        for call in member.calls:
            self._pace.kept(0, call.room)
        member.calls.clear()
        self._tries.end(member.number)
        self._gone.append(member.figures)
        self._grants.give_back(member)
        place = self._members.index(member)
        if self._stopping:
            self._members.pop(place)
        elif member.deaths + 1 >= MOST_DEATHS:
            self._fail(
                member,
                JostleError(
                    f"worker {member.number} died {MOST_DEATHS} times in a row ({lost}): what was found is safe; see "
                    f"whether it runs without --workers, and with --isolate if the model ends its process"
                ),
            )
        else:
            self._members[place] = self._hired(member.number, member.deaths + 1)
        self._ask_everybody()


def _failure_in(parcel: Parcel) -> JostleError | None:
    """What a worker says that it cannot do."""
    if REFUSED in parcel.fields:
        return UsageError(parcel.fields[REFUSED])
    return JostleError(parcel.fields[FAILED]) if FAILED in parcel.fields else None


def _in_campaigns_ids(ids: CorpusIds, done: DoneStep) -> DoneStep:
    """A worker's step with parents as the campaign numbers them."""

    def translated(batch: Candidates) -> Candidates:
        return replace(batch, parents=ids.of_campaign(batch.parents))

    findings, flaky = (
        tuple(replace(one, row=translated(one.row)) for one in some) for some in (done.findings, done.flaky)
    )
    failing = replace(done.failing, inputs=translated(done.failing.inputs))
    return replace(done, kept=translated(done.kept), findings=findings, flaky=flaky, failing=failing)

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
from jostle.mutations import with_room
from jostle.records import Candidates
from jostle.scale.cluster import Cluster, WorkerLost
from jostle.scale.corpus_ids import CorpusIds
from jostle.scale.folder_parcels import folder_parcels, put_files
from jostle.scale.members import Bulletin, Grants, Member, Request
from jostle.scale.parcel import Parcel
from jostle.scale.step_parcels import News, StepParcels
from jostle.step_records import DoneStep, Standing, Tries, WorkersSoFar

ROUNDS_AHEAD = 2  # of each worker: one that it does, and one for when it is done with that
MOMENT = 0.2  # seconds to wait for an answer
MOST_DEATHS = 3  # of a worker in a row, before it has done a round
RECEIVE, BEGIN, ROUND = "receive", "begin", "round"  # methods of workers
REFUSED, FAILED = "refused", "failed"  # fields of an answer: what the user must mend, what went wrong besides
NO_IDS = torch.empty(0, dtype=torch.int64)


@dataclass(frozen=True)
class Work:
    """What workers begin with."""

    fields: Mapping[str, Any]  # what they are to compose, and what must be the same where they are
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
        self._steps: deque[tuple[Member, DoneStep, Mapping[str, Tensor]]] = deque()
        self._given: tuple[Member, Mapping[str, Tensor]] | None = None  # whose step was given last, and its files
        self._news: list[tuple[Tensor, News]] = []  # of the round whose steps are being given, with ids of entries
        self._grants = Grants(None)
        self._tries: dict[int, Mapping[str, Tries]] = {}  # by worker
        self._stopping = False
        self._began = 0.0
        self._duplicates = self._lost = 0
        self._lost_seconds = self._busy = self._elapsed = 0.0  # of workers that are gone

    def begin(self, standing: Standing) -> None:
        self._standing, self._parents, self._entries = standing, standing.parents, len(standing.parents)
        self._executions = standing.executions
        self._bugs, self._flaky = set(standing.bugs), set(standing.flaky)
        if self._work.executions is not None:
            self._grants.left = max(0, self._work.executions - standing.executions)
        self._members = [self._hired(number) for number in range(self._workers)]
        while all(member.rounds(BEGIN) for member in self._members):  # models take seconds to load, which is no fuzzing
            self._hear()
        self._began = time.monotonic()

    def next_step(self) -> DoneStep | None:
        self._ask_on()
        if not self._steps:
            self._hear()
        if not self._steps:
            return None
        member, done, files = self._steps.popleft()
        self._given = member, files
        self._executions += done.ran
        return self._in_campaigns_ids(member, done)

    def spread(self, done: DoneStep, entries: int, new: Tensor) -> None:
        assert self._given is not None, "a step was given before"
        member, files = self._given
        ids = torch.arange(entries, entries + len(done.kept))
        self._parents = with_room(self._parents, entries + len(ids))
        self._parents[entries : entries + len(ids)] = done.kept.parents
        self._entries = entries + len(ids)
        member.ids.add(ids)
        bugs, flaky = ({(one.violation.kind, one.bug) for one in some} for some in (done.findings, done.flaky))
        self._bugs, self._flaky = self._bugs | bugs, self._flaky | flaky
        self._duplicates += int((~new).sum())
        if self._workers > 1 and (new.any() or bugs or flaky):
            rows = new.nonzero().squeeze(1)
            self._news.append((ids[rows], News(done.kept.select(rows), done.trace.select(rows), bugs, flaky, files)))

    def over(self) -> bool:
        waited_for = [member for member in self._members if not (self._stopping and member.rounds(BEGIN))]
        return not self._steps and not any(member.calls for member in waited_for)

    def stop(self) -> None:
        self._stopping = True

    def tries(self) -> Mapping[str, Tries]:
        made, succeeded, needed = Counter[str](), Counter[str](), dict[str, str]()
        for tries in self._tries.values():
            for name, one in tries.items():
                made[name] += one.made
                succeeded[name] += one.succeeded
                needed[name] = one.needed
        return {name: Tries(made[name], succeeded[name], needed[name]) for name in made}

    def so_far(self) -> WorkersSoFar:
        now = time.monotonic()
        busy = self._busy + sum(member.busy for member in self._members)
        elapsed = self._elapsed + sum(member.elapsed for member in self._members)
        return WorkersSoFar(
            rates={member.number: member.ran / max(member.elapsed, 1e-9) for member in self._members},
            oldest=max((now - member.heard for member in self._members), default=0.0),
            synchronising=1 - busy / elapsed if elapsed else 0.0,
            duplicates=self._duplicates,
            lost=self._lost,
            lost_seconds=self._lost_seconds,
        )

    def _hired(self, number: int, deaths: int = 0) -> Member:
        """A worker that begins from all that is in the campaign's folder."""
        now = time.monotonic()
        handle, ids = self._cluster.start(number), CorpusIds(self._entries)
        member = Member(number, handle, ids, self._executions, now, deaths, heard=now)
        self._work.written()
        for parcel in folder_parcels(self._work.folder, *self._work.files):
            self._call(member, RECEIVE, parcel)
        begin = {
            "seconds": self._standing.seconds + (now - self._began if self._began else 0.0),
            "bugs": sorted(self._bugs),
            "flaky": sorted(self._flaky),
            "number": number,
            "workers": self._workers,
        }
        self._call(member, BEGIN, Parcel({**self._work.fields, **begin}))
        self._ask(member)
        return member

    def _call(self, member: Member, method: str, parcel: Parcel, told: Tensor = NO_IDS, *shared: Any) -> None:
        member.calls.append(Request(method, member.handle.call(method, parcel.encoded(), *shared), told))

    def _ask(self, member: Member) -> None:
        """Asks for as many rounds as a worker may be ahead, unless there is nothing left for it to do."""
        while not self._stopping and not member.exhausted and member.rounds(ROUND) < ROUNDS_AHEAD:
            executions = self._grants.lease(member, self._work.batch, self._workers)
            if executions is not None and member.granted <= member.ran:
                return
            bulletins, member.news = member.news, []
            parents = [member.ids.of_worker(one.parents, self._parents) for one in bulletins]
            parcel = Parcel({"executions": executions}, {str(place): some for place, some in enumerate(parents)})
            told = torch.cat([NO_IDS, *(one.ids for one in bulletins)])
            self._call(member, ROUND, parcel, told, *(one.content for one in bulletins))

    def _ask_on(self) -> None:
        """What was given before is safe by now; once all of its round was, others are told and its worker goes on."""
        if self._given is None:
            return
        member, self._given = self._given[0], None
        if any(other is member for other, _, _ in self._steps):
            return
        self._publish(member)
        if member in self._members:
            self._ask(member)

    def _publish(self, member: Member) -> None:
        """Tells all others what is new of a worker's round."""
        if not self._news:
            return
        ids, news = torch.cat([ids for ids, _ in self._news]), News.joined([news for _, news in self._news])
        self._news = []
        bulletin = Bulletin(self._cluster.share(self._parcels.of_news(news).encoded()), ids, news.kept.parents)
        for other in self._members:
            if other is not member:
                other.news.append(bulletin)

    def _hear(self) -> None:
        """Takes the answers that there are, or that come within a moment."""
        asked = {member.calls[0].answer: member for member in self._members if member.calls}
        for answer in self._cluster.first_ready(list(asked), MOMENT) if asked else ():
            member = asked[answer]
            try:
                content = self._cluster.answer(answer)
            except WorkerLost as lost:
                self._replace(member, lost)
            else:
                self._heard(member, member.calls.popleft(), Parcel.decoded(content))

    def _heard(self, member: Member, call: Request, parcel: Parcel) -> None:
        """Takes an answer."""
        if REFUSED in parcel.fields:
            raise UsageError(parcel.fields[REFUSED])
        if FAILED in parcel.fields:
            raise JostleError(parcel.fields[FAILED])
        member.heard = time.monotonic()
        if call.method != ROUND:
            return
        member.deaths = 0
        member.ids.add(call.told)
        steps, files = self._parcels.steps_in(parcel)
        put_files(files, self._work.folder)
        fields = parcel.fields
        member.busy, member.elapsed = fields["busy"], fields["elapsed"]
        member.exhausted = fields["exhausted"]
        self._tries[member.number] = {name: Tries(*one) for name, one in fields["tries"].items()}
        member.ran += sum(done.ran for done in steps)
        self._steps.extend((member, done, files) for done in steps)
        if member.exhausted:
            self._grants.give_back(member)
        if not steps:
            self._ask(member)

    def _replace(self, member: Member, lost: WorkerLost) -> None:
        """Starts another worker in the place of one that is gone, of which a bounded time of work is lost."""
        member.calls.clear()
        self._lost += 1
        self._lost_seconds += time.monotonic() - member.heard
        self._busy, self._elapsed = self._busy + member.busy, self._elapsed + member.elapsed
        self._grants.give_back(member)
        place = self._members.index(member)
        if member.deaths + 1 >= MOST_DEATHS:
            raise JostleError(
                f"worker {member.number} died {MOST_DEATHS} times before it had done anything ({lost}): what was found "
                f"is safe; --isolate keeps a model that ends its process apart"
            )
        if self._stopping:
            self._members.pop(place)
        else:
            self._members[place] = self._hired(member.number, member.deaths + 1)

    def _in_campaigns_ids(self, member: Member, done: DoneStep) -> DoneStep:
        """A worker's step with parents as the campaign numbers them."""

        def translated(batch: Candidates) -> Candidates:
            return replace(batch, parents=member.ids.of_campaign(batch.parents))

        findings, flaky = (
            tuple(replace(one, row=translated(one.row)) for one in some) for some in (done.findings, done.flaky)
        )
        failing = replace(done.failing, inputs=translated(done.failing.inputs))
        return replace(done, kept=translated(done.kept), findings=findings, flaky=flaky, failing=failing)

"""One worker of a campaign with several: composes the campaign anew where it is, and does rounds of steps."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from jostle.campaign import Budget, Campaign
from jostle.composition.compose import budget_of, compose
from jostle.composition.settle import FUZZ
from jostle.errors import JostleError, UsageError
from jostle.foreign import first_line, kind_of, raised_by_user
from jostle.frameworks.campaign.graph_store import GraphStore, graph_number
from jostle.frameworks.campaign.options import FRAMEWORKS, settled
from jostle.freed_memory import keep_freed_memory
from jostle.interfaces import Listener
from jostle.isolation.messages import trace_arrays
from jostle.isolation.orphans import clean_up, new_folder
from jostle.progress import quietly
from jostle.records import Seeds, Share
from jostle.scale.crew import FAILED, REFUSED
from jostle.scale.folder_parcels import file_array, put_files
from jostle.scale.parcel import Parcel
from jostle.scale.requests import BeginRequest, RoundFigures, RoundRequest
from jostle.scale.step_parcels import DoneRound, Files, StepParcels
from jostle.session.assemble_frameworks import keep_graphs, open_backends
from jostle.session.crew_versions import refuse_other_versions
from jostle.session.hiring import FRAMEWORKS_COMMAND, FUZZ_COMMAND
from jostle.session.load import load
from jostle.session.profiles import saved_profile, take_profile
from jostle.step_records import DoneStep, OwnStep
from jostle.storage.graph_files import GraphFiles
from jostle.storage.history import copied_history
from jostle.storage.own_folders import GRAPHS

ROUND_BYTES = 2**24  # of what it hands over, beyond which it ends


@dataclass(frozen=True)
class Composed:
    """A campaign for a worker, with what stands around it there."""

    campaign: Campaign
    seeds: Seeds
    budget: Budget
    digest: str  # of what it begins from
    listeners: Sequence[Listener] = ()
    counts: Callable[[], Mapping[str, int]] = dict  # what it counts besides steps
    files_of: Callable[[DoneStep], Files] = lambda done: {}  # that the campaign needs of what a step kept or found


class CrewMember:
    """Answers for one worker; takes and gives messages as bytes, so that nothing of it is ever unpickled."""

    def __init__(self, number: int):
        clean_up()  # what workers that are gone have left on this machine
        self._number, self._folder = number, new_folder()

    def receive(self, content: bytes, *files: bytes) -> bytes:
        """Takes files of the campaign's folder."""
        return _answered(lambda: self._received(files))

    def begin(self, content: bytes) -> bytes:
        """Composes the campaign and goes through all that it has done so far."""
        return _answered(lambda: self._begun(BeginRequest.of(Parcel.decoded(content))))

    def round(self, content: bytes, *bulletins: bytes) -> bytes:
        """Takes the news of others, and does steps for some time."""
        return _answered(lambda: self._round(RoundRequest.of(Parcel.decoded(content)), bulletins))

    def _received(self, files: Sequence[bytes]) -> Parcel:
        for some in files:
            put_files(Parcel.decoded(some).arrays, self._folder)
        return Parcel()

    def _begun(self, asked: BeginRequest) -> Parcel:
        setup, share = asked.setup, Share(self._number, asked.workers)
        refuse_other_versions(setup.versions)
        _enter(Path(setup.place), setup.importable)
        keep_freed_memory()
        self._composed = composed = COMPOSED[setup.command](setup.options, self._folder, share)
        if composed.digest != setup.digest:
            raise UsageError(
                f"on {os.uname().nodename} model or seeds are others than here: put the same files on every machine"
            )
        self._parcels, self._several = StepParcels(composed.seeds), share.of > 1
        composed.campaign.allow(replace(composed.budget, executions=asked.executions))
        bugs, flaky = frozenset(asked.bugs), frozenset(asked.flaky)
        history = copied_history(self._folder, composed.seeds, bugs, flaky, asked.seconds)
        composed.campaign.begin(history, composed.listeners)
        self._busy, self._since = 0.0, time.monotonic()
        return Parcel()

    def _round(self, asked: RoundRequest, bulletins: Sequence[bytes]) -> Parcel:
        composed, began = self._composed, time.thread_time()
        told = sum(self._take_in(bulletin) for bulletin in bulletins)
        taking_in = time.thread_time() - began
        composed.campaign.allow(replace(composed.budget, executions=asked.executions), asked.room)
        started = time.monotonic()
        steps = list(self._steps(started, asked))
        self._busy += time.monotonic() - started
        figures = RoundFigures(
            busy=self._busy,
            elapsed=time.monotonic() - self._since,
            told=told,
            taking_in=taking_in,
            unassessed=composed.campaign.unassessed,
            exhausted=not steps and not composed.campaign.spent(),
            counts=composed.counts(),
            tries=composed.campaign.tries(),
        )
        files = {name: content for done in steps for name, content in composed.files_of(done).items()}
        joined = [DoneStep.joined(steps)] if self._several and steps else steps
        return self._parcels.of_round(DoneRound(joined, files, figures))

    def _take_in(self, bulletin: bytes) -> int:
        """Has the campaign know what others kept and found; how many entries that is."""
        news = self._parcels.news_in(Parcel.decoded(bulletin)).of_others(self._number)
        self._composed.campaign.know(news.kept, news.trace, news.bugs, news.flaky)
        return len(news.kept)

    def _steps(self, started: float, asked: RoundRequest) -> Iterator[DoneStep]:
        """A step, and more until so many seconds are over, or fewer once something was found."""
        campaign, enough, size = self._composed.campaign, asked.seconds, 0
        while (done := campaign.step()) is not None:
            yield replace(done, by=OwnStep(self._number, campaign.steps)) if self._several else done
            size += _size(done)
            enough = min(enough, asked.soon) if done.findings or done.flaky else enough
            if size >= ROUND_BYTES or time.monotonic() - started >= enough:
                return


class CrewMemberProcess(CrewMember):
    """The same as a process of its own: asked to end, it does, where Ray would raise that within the model."""

    def __init__(self, number: int):
        super().__init__(number)
        signal.signal(signal.SIGTERM, lambda *of_the_signal: os._exit(1))


def _answered(work: Callable[[], Parcel]) -> bytes:
    """What came of some work, or why it cannot be done."""
    try:
        return work().encoded()
    except UsageError as error:
        return Parcel({REFUSED: str(error)}).encoded()
    except JostleError as error:
        return Parcel({FAILED: str(error)}).encoded()
    except Exception as error:  # else Ray would pickle it
        what = f"{kind_of(error)}: {first_line(error)}".rstrip(": ")
        if (place := raised_by_user(error)) is not None:
            return Parcel({REFUSED: f"{what} in {place}; what was found is safe: mend that code"}).encoded()
        return Parcel(
            {FAILED: f"a worker failed ({what}), which is a defect in Jostle; what was found is safe"}
        ).encoded()


def _enter(place: Path, importable: Sequence[str]) -> None:
    """Goes where the campaign was begun, so that its options name the same files."""
    if not place.is_dir():
        raise UsageError(f"{place} is not there on {os.uname().nodename}: put model and seeds at the same place there")
    os.chdir(place)
    sys.path += [folder for folder in importable if folder not in sys.path]  # last: it hides nothing


def _size(done: DoneStep) -> int:
    """Bytes, about, that a step hands over."""
    arrays = (done.kept.inputs, done.failing.inputs.inputs, *trace_arrays(done.trace).values())
    return sum(array.nbytes for array in arrays)


def _fuzz(options: Mapping[str, Any], folder: Path, share: Share) -> Composed:
    """What `jostle fuzz` composes of options, with the profile and twins that the folder holds."""
    loaded = load(FUZZ.parsed(options).over(out=str(folder)))
    profile = saved_profile(folder, loaded.model)
    composition = compose(loaded.prepared, lambda: take_profile(loaded, quietly) if profile is None else profile, share)
    seeds, budget = composition.prepared.seeds, budget_of(loaded.settings)
    return Composed(composition.campaign(folder), seeds, budget, loaded.digest)


def _frameworks(options: Mapping[str, Any], folder: Path, share: Share) -> Composed:
    """The same of `jostle frameworks`, with backends of the worker's own."""
    settings = settled(FRAMEWORKS.parsed(options))
    opened, files = open_backends(settings), GraphFiles(folder / GRAPHS, graph_number)
    store = GraphStore(files.read)
    composed = opened.composed(store, share=share)

    def files_of(done: DoneStep) -> Files:
        rows = (done.kept, *(finding.row for finding in (*done.findings, *done.flaky)))
        numbers = {number for row in rows for number in row.inputs.flatten().tolist()}
        return {f"{GRAPHS}/{files.name(number)}": file_array(files.read(number)) for number in numbers}

    return Composed(
        campaign=composed.campaign,
        seeds=composed.seeds,
        budget=budget_of(settings),
        digest=opened.digest,
        counts=opened.examiner.counts,
        listeners=(partial(keep_graphs, store, files), lambda record: composed.target.forget()),
        files_of=files_of,
    )


COMPOSED: Mapping[str, Callable[[Mapping[str, Any], Path, Share], Composed]] = {
    FUZZ_COMMAND: _fuzz,
    FRAMEWORKS_COMMAND: _frameworks,
}

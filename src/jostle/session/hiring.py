"""From options to workers: what they are told, and where they run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import UsageError
from jostle.held import was_held
from jostle.isolation.orphans import clean_up
from jostle.options.resources import ScaleOptions, ThreadOptions
from jostle.options.schema import Given
from jostle.records import Seeds
from jostle.scale.crew import RemoteCrew, Work
from jostle.scale.ray_cluster import RayCluster, refuse_without_ray
from jostle.scale.requests import WorkerSetup
from jostle.scale.step_parcels import StepParcels
from jostle.session.crew_versions import versions
from jostle.step_records import COUNTED_CORPUS
from jostle.triage.words import counted

FUZZ_COMMAND, FRAMEWORKS_COMMAND = "fuzz", "frameworks"
NOT_REPRODUCIBLE = "with several workers no campaign is like another; only each worker's own draws follow from the seed"


@dataclass(frozen=True)
class Hiring:
    """Where workers run, None where the campaign does its steps itself."""

    cluster: RayCluster | None = None
    workers: int = 0
    address: str | None = None

    def crew(self, seeds: Seeds, work: Work) -> RemoteCrew | None:
        return None if self.cluster is None else RemoteCrew(self.cluster, self.workers, StepParcels(seeds), work)

    @property
    def introduction(self) -> tuple[str, ...]:
        """What a person should know before anything runs elsewhere."""
        if self.cluster is None:
            return ()
        where = "this machine alone" if self.address is None else f"the cluster at {self.address}"
        return (f"{counted(self.workers, 'worker')} on {where}, by Ray",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know of the workers that were asked for."""
        if self.cluster is None or self.workers == 1:
            return ()
        processors = counted(self.cluster.processors, "processor")
        shared = f"{self.workers} workers share {processors}: more than one each is not faster"
        free = f"there is room for {self.cluster.free} of {self.workers} workers now: others begin when it is freed"
        return (
            *([shared] if self.workers > self.cluster.processors else []),
            *([free] if self.workers > self.cluster.free else []),
            NOT_REPRODUCIBLE,
        )

    def close(self) -> None:
        """Ends all workers."""
        if self.cluster is not None:
            self.cluster.close()
            clean_up()  # the folders of those that were on this machine


def refuse_missing_ray(options: ScaleOptions) -> None:
    """Refuses workers where there is nothing to run them."""
    if options.number is not None:
        refuse_without_ray()


def refuse_unshareable(given: Given) -> None:
    """Refuses what workers cannot have: objects of this process, and coverage of inputs that nobody hands over."""
    if given.of(ScaleOptions).number is None:
        return
    if any(was_held(text) for text in _texts(given)):
        raise UsageError(
            "workers cannot have objects of this process: name what stands for them, as FILE.py:function or a file"
        )
    if given.get("count_coverage", COUNTED_CORPUS) != COUNTED_CORPUS:
        raise UsageError("--count-coverage run and failing need all inputs in one process: leave it or --workers out")


def _texts(given: Given) -> Iterator[str]:
    for value in given.values.values():
        yield from filter(lambda one: isinstance(one, str), value if isinstance(value, list | tuple) else [value])


def hire(options: ScaleOptions) -> Hiring:
    """Connects with what runs the workers that options ask for."""
    if options.number is None:
        return Hiring()
    from jostle.session.crew_member import CrewMemberProcess  # here, because it composes campaigns as those who hire do

    cluster = RayCluster(CrewMemberProcess, options.number, options.ray_address)
    return Hiring(cluster, options.number, options.ray_address)


def on_one_thread_each(given: Given) -> Given:
    """Several workers have a processor each, so their models run on one thread unless the user says otherwise."""
    several = (given.of(ScaleOptions).number or 1) > 1
    return given.over(threads=1) if several and given.of(ThreadOptions).number is None else given


def worker_setup(command: str, given: Given, digest: str) -> WorkerSetup:
    """What every worker is to compose of what a user chose."""
    options = given.over(workers=None, ray_address=None, out=None)
    return WorkerSetup(
        command=command,
        options=dict(options.values),
        digest=digest,
        versions=versions(),
        place=str(Path.cwd()),
        importable=sys.path,
    )

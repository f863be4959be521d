"""What synchronising costs with 8, 64 and 512 workers, by a simulation with constants that are measured here.

Measures LeNet-5 and a network of ResNet-50's size with 1, 2 and 4 workers of Ray, and with 4 in one process on one
processor, where seconds of workers and of the driver can be told apart. Then simulates 2 and 4 workers on this
machine's processors, prints that beside what was measured, and simulates up to 512 with a processor each.
`--write` puts the tables between the marks of docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from scipy.optimize import nnls

from bare_pass import seconds_of
from bench.kept import Conditions
from crew_measured import Measured, measured_here, measured_with_ray
from crew_model import Costs, Design, Numbers, Simulated, Subject, Units, simulated
from jostle.session.crew_member import ROUND_BYTES
from jostle.storage.files import write_whole
from marked_sections import with_section
from paper.markdown import markdown_table

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
NETWORK = Path(__file__).with_name("resnet50.py")
SECTIONS = 1000  # of a neuron's range that KMNC counts by default
CLASSES = 40  # of units
CLUMPINGS = np.geomspace(0.02, 50, 60)
CHECKED = (2, 4)
NUMBERS = (1, 2, 4, 8, 64, 512)
MANY = (8, 64, 512)
SATURATED = 0.95  # of the driver's time
MOST_SYNCHRONISING = 0.2  # of workers' time, for a design to hold
SIMULATED_SECONDS = 60
IN_ONE_PROCESS = 4  # workers
DESIGNS = (
    Design("as it is: news of each round by themselves"),
    Design("all news of a second together", tick=1.0),
    Design("the same, and first rounds of 0.05 s that double", tick=1.0, first_round=0.05),
    Design("the same, and news are covered units without entries", tick=1.0, first_round=0.05, maps=True),
    Design("the same, and a driver for every 64 workers", tick=1.0, first_round=0.05, maps=True, group=64),
)


@dataclass(frozen=True)
class Campaign:
    """What is measured."""

    told: str
    options: Mapping[str, Any]
    seconds: float  # of each run


LENET5 = Campaign(
    "LeNet-5",
    {"model": "jostle.zoo:lenet5", "seeds": "jostle.zoo:mnist_sample", "recipe": "deephunter"},
    30,
)
RESNET50 = Campaign(
    "ResNet-50's size",
    {
        "model": f"{NETWORK}:resnet50",
        "seeds": f"{NETWORK}:photos",
        "recipe": "deephunter",
        "layers": ("*",),
        "batch": 8,
        "force": True,
    },
    60,
)


@dataclass(frozen=True)
class Seen:
    """What a real run came to, beside which its simulation is set."""

    workers: int
    seconds: float
    rate: float  # executions per second
    bytes_in: float  # per second
    bytes_out: float  # per second
    synchronising: float
    duplicates: float


@dataclass(frozen=True)
class Constants:
    """Of one campaign."""

    told: str
    subject: Subject
    seen: tuple[Seen, ...]
    executions: float  # up to which the discovery of units was measured
    covered: float  # there


def main() -> int:
    options = _arguments().parse_args()
    torch.set_num_threads(1)
    if options.constants is not None and options.constants.exists():
        conditions, every = _read(options.constants)
    else:
        conditions, every = _measured(options.quick)
        if options.constants is not None:
            options.constants.write_text(_text(conditions, every), encoding="utf-8")
    seconds = 5 if options.quick else SIMULATED_SECONDS
    series = list(_series(every, seconds))
    tables = {
        "scaling: constants": _constants_table(every) + f"\n\n*{conditions}.*",
        "scaling: check": _check_table(every),
        "scaling: verdict": _verdict_table(series),
        "scaling: simulation": "\n\n".join(_simulation_table(one, seconds) for one in series),
    }
    for name, table in tables.items():
        print(f"## {name}\n\n{table}\n")
        if options.write:
            write_whole(PAGE, with_section(PAGE.read_text(encoding="utf-8"), name, table).encode())
    return 0


def _measured(quick: bool) -> tuple[str, list[Constants]]:
    conditions = str(Conditions.here("python benchmarks/scaling_simulation.py"))
    return conditions, [_constants(one, 3 if quick else one.seconds) for one in ([LENET5] if quick else CAMPAIGNS)]


CAMPAIGNS = (LENET5, RESNET50)


def _constants(campaign: Campaign, seconds: float) -> Constants:
    """Runs a campaign with several numbers of workers."""
    here = measured_here(campaign.options, IN_ONE_PROCESS, 2 * seconds)  # on one processor for all
    ray = [measured_with_ray(campaign.options, workers, seconds) for workers in (1, *CHECKED)]
    first, two = ray[0], ray[1]
    turns = [turn for one in ray for turn in one.turns]
    last = first.points[-1]
    units = int(last.coverage["kmnc"]["neurons"] * SECTIONS)
    subject = Subject(
        units=_units(first),
        costs=_costs(here, ray, units),
        entry_bytes=sum(turn.bytes_in for turn in turns) / sum(turn.kept for turn in turns),
        round_seconds=float(np.mean([turn.busy for turn in two.turns])),
        round_bytes=ROUND_BYTES,
        step_rows=sum(turn.ran for turn in turns) / sum(turn.steps for turn in turns),
        map_bytes=units / 8,
    )
    return Constants(
        campaign.told,
        subject,
        tuple(_seen(one) for one in ray if one.workers in CHECKED),
        last.executions,
        last.coverage["kmnc"]["covered"],
    )


def _units(measured: Measured) -> Units:
    """Classes of units whose discovery adds up to the coverage of a run, and how they are spread over inputs."""
    points = measured.points
    executions = np.array([point.executions for point in points], float)
    covered = np.array([_covered(point.coverage["kmnc"]) for point in points])
    since, gained = executions[1:] - executions[0], covered[1:] - covered[0]
    chances = np.geomspace(1 / (3 * since[-1]), 0.5, CLASSES)
    weights = 1 / np.maximum(gained, 1)
    counts, _ = nnls((1 - np.exp(-np.outer(since, chances))) * weights[:, None], gained * weights)
    ran = np.diff([line.executions for line in measured.lines]).astype(float)
    known = np.array([line.executions for line in measured.lines[:-1]]) - executions[0] + ran / 2
    kept = np.array([line.kept for line in measured.lines[1:]], float)

    def fault(clumping: float) -> float:
        return float(((ran * Units(chances, counts, clumping).chance(known) - kept) ** 2).sum())

    found = counts > 0
    return Units(chances[found].tolist(), counts[found].tolist(), float(min(CLUMPINGS, key=fault)))


def _covered(figures: Mapping[str, float]) -> float:
    """Units."""
    return figures["covered"] * figures["neurons"] * SECTIONS


def _costs(here: Measured, ray: Sequence[Measured], units: int) -> Costs:
    turns = [turn for turn in here.turns if turn.whole]
    round_, bulletin, told, handed = _fitted(
        turns, lambda turn: (1, turn.took, turn.took_entries, turn.kept), lambda turn: turn.worked - turn.stepped
    )
    step, entry = _fitted(turns, lambda turn: (turn.steps, turn.kept), lambda turn: turn.taking)
    told_of = [turn for turn in turns if turn.bytes_news]
    put_out, news = _fitted(told_of, lambda turn: (1, turn.new), lambda turn: turn.telling)
    empty, asked, asked_entry = _fitted(told_of, lambda turn: (1, turn.bulletins, turn.told), lambda turn: turn.asking)
    calls, answers, shares = (
        [pair for one in ray for pair in getattr(one.transport, name)] for name in ("calls", "answers", "shares")
    )
    call, referred = _fitted(calls, lambda pair: (1, pair[0]), lambda pair: pair[1])
    answer, received = _fitted(answers, lambda pair: (1, pair[0]), lambda pair: pair[1])
    _, shared = _fitted(shares, lambda pair: (1, pair[0]), lambda pair: pair[1])
    size = sum(turn.bytes_in for turn in turns) / sum(turn.kept for turn in turns)
    return Costs(
        execution=sum(turn.stepped for turn in turns) / sum(turn.ran for turn in turns),
        round=round_,
        bulletin=bulletin,
        told=told,
        handed=handed,
        turn=put_out + empty + call + answer,
        step=step,
        entry=entry + received * size,
        news=news + shared * size,
        asked=asked + referred,
        asked_entry=asked_entry,
        written=sum(one.other_threads for one in ray) / sum(turn.kept for one in ray for turn in one.turns),
        merged=_merging(units),
    )


def _merging(units: int) -> float:
    """Seconds to merge two maps of a bit for each unit."""
    ours, theirs = (np.zeros(units // 8, np.uint8) for _ in range(2))
    return seconds_of(lambda: np.bitwise_or(ours, theirs, out=ours), 20)


def _fitted(
    rows: Sequence[Any], causes: Callable[[Any], tuple[float, ...]], seconds: Callable[[Any], float]
) -> list[float]:
    """What each cause costs, none less than nothing, by least squares."""
    if not rows:
        raise RuntimeError("no worker was asked for a round after its first two: runs must take longer here")
    matrix, effects = np.array([causes(row) for row in rows], float), np.array([seconds(row) for row in rows])
    scale = np.maximum(matrix.max(0), 1e-12)
    costs: Numbers = nnls(matrix / scale, np.maximum(effects, 0))[0] / scale
    return [float(cost) for cost in costs]


def _seen(measured: Measured) -> Seen:
    turns, summary = measured.turns, measured.summary
    assert summary.workers is not None, "it ran with workers"
    kept = sum(turn.kept for turn in turns)
    return Seen(
        measured.workers,
        summary.seconds,
        sum(turn.ran for turn in turns) / summary.seconds,
        sum(turn.bytes_in for turn in turns) / summary.seconds,
        sum(turn.bytes_news for turn in turns) / summary.seconds,
        summary.workers.synchronising,
        summary.workers.duplicates / max(1, kept),
    )


def _constants_table(every: Sequence[Constants]) -> str:
    """One column for each campaign."""
    rows: list[tuple[str, Callable[[Constants], str]]] = [
        (
            "executions a second of a worker with a processor of its own",
            lambda one: f"{1 / _costs_of(one).execution:,.1f}",
        ),
        ("bytes of a kept entry with its trace", lambda one: f"{one.subject.entry_bytes:,.0f}"),
        ("seconds of a round, on average", lambda one: f"{one.subject.round_seconds:.2f}"),
        ("worker: a round", lambda one: _micro(_costs_of(one).round)),
        ("worker: a bulletin of news", lambda one: _micro(_costs_of(one).bulletin)),
        ("worker: an entry of it", lambda one: _micro(_costs_of(one).told)),
        ("worker: an entry handed over", lambda one: _micro(_costs_of(one).handed)),
        ("driver: a round", lambda one: _micro(_costs_of(one).turn)),
        ("driver: a step of it", lambda one: _micro(_costs_of(one).step)),
        ("driver: an entry taken over", lambda one: _micro(_costs_of(one).entry)),
        ("driver: an entry that is new put out", lambda one: _micro(_costs_of(one).news)),
        ("driver: a bulletin told to a worker", lambda one: _micro(_costs_of(one).asked)),
        ("driver: an entry of it", lambda one: _micro(_costs_of(one).asked_entry)),
        ("driver's other threads (writing, Ray): an entry", lambda one: _micro(_costs_of(one).written)),
        ("merging a map of all units, a bit each", lambda one: _micro(_costs_of(one).merged)),
        ("bytes of such a map", lambda one: f"{one.subject.map_bytes:,.0f}"),
        ("executions of a step", lambda one: f"{one.subject.step_rows:,.0f}"),
        (
            "kept of an execution, at first and in the end",
            lambda one: " and ".join(f"{float(share):.2f}" for share in _chances(one)),
        ),
        (
            "covered by one worker after so many executions",
            lambda one: f"{one.covered:.1%} after {one.executions:,.0f}",
        ),
    ]
    cells = [[told, *(shown(one) for one in every)] for told, shown in rows]
    return markdown_table(("constant", *(one.told for one in every)), cells)


def _costs_of(constants: Constants) -> Costs:
    return constants.subject.costs


def _chances(constants: Constants) -> Numbers:
    return constants.subject.units.chance(np.array([0.0, constants.executions]))


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs"


def _check_table(every: Sequence[Constants]) -> str:
    headings = ("run", "executions/s", "duplicates", "synchronising", "MB/s to the driver", "MB/s of news")
    return markdown_table(headings, [cells for one in every for cells in _checks(one)])


def _checks(constants: Constants) -> Iterator[list[str]]:
    """Every cell: simulated, then measured."""
    processors = psutil.cpu_count() or 1
    for seen in constants.seen:
        run = simulated(constants.subject, DESIGNS[0], seen.workers, seen.seconds, processors)
        yield [
            f"{constants.told}, {seen.workers} workers: simulated / measured",
            f"{run.rate:,.0f} / {seen.rate:,.0f}",
            f"{run.duplicates:.1%} / {seen.duplicates:.1%}",
            f"{run.synchronising:.1%} / {seen.synchronising:.1%}",
            f"{run.bytes_in / 1e6:,.1f} / {seen.bytes_in / 1e6:,.1f}",
            f"{run.bytes_out / 1e6:,.1f} / {seen.bytes_out / 1e6:,.1f}",
        ]


@dataclass(frozen=True)
class Series:
    """One campaign with one design and several numbers of workers."""

    constants: Constants
    design: Design
    runs: tuple[Simulated, ...]
    alone: float  # executions per second of one worker


def _series(every: Sequence[Constants], seconds: float) -> Iterator[Series]:
    for constants in every:
        alone = simulated(constants.subject, DESIGNS[0], 1, seconds).rate
        for design in DESIGNS:
            numbers = NUMBERS if design is DESIGNS[0] else MANY
            runs = tuple(simulated(constants.subject, design, number, seconds) for number in numbers)
            yield Series(constants, design, runs, alone)


def _simulation_table(series: Series, seconds: float) -> str:
    title = f"{series.constants.told}, {series.design.told}, the first {seconds:.0f} s, a processor for each worker:"
    return f"{title}\n\n{markdown_table(HEADINGS, [_cells(run, series.alone) for run in series.runs])}"


def _verdict_table(every: Sequence[Series]) -> str:
    """How far each design goes."""
    cells = [
        [f"{one.constants.told}, {one.design.told}", *(_verdict(run) for run in one.runs if run.workers in MANY)]
        for one in every
    ]
    return markdown_table(("campaign and design", *(f"{number} workers" for number in MANY)), cells)


def _verdict(run: Simulated) -> str:
    reached = run.synchronising <= MOST_SYNCHRONISING and run.utilisation <= SATURATED
    return f"{'**holds**' if reached else 'does not hold'}: {run.synchronising:.0%}, driver {run.utilisation:.0%}"


HEADINGS = (
    *("workers", "executions/s (times one)", "to the driver, MB/s (busiest second)", "news, MB/s put out (each takes)"),
    *(
        "driver busy",
        "its longest queue",
        "workers synchronising or waiting",
        "age of news, mean (worst)",
        "duplicates",
    ),
)


def _cells(run: Simulated, alone: float) -> list[str]:
    return [
        str(run.workers),
        f"{run.rate:,.0f} ({run.rate / alone:.1f}×)",
        f"{run.bytes_in / 1e6:,.1f} ({run.peak_in / 1e6:,.0f})",
        f"{run.bytes_out / 1e6:,.1f} ({run.bytes_taken / 1e6:,.1f})",
        f"{run.utilisation:.0%}{', saturated' if run.utilisation > SATURATED else ''}",
        f"{run.peak:,.1f} s",
        f"{run.synchronising:.1%}",
        f"{run.stale:.1f} s ({run.stalest:.1f})" if run.workers > 1 else "",
        f"{run.duplicates:.1%}",
    ]


def _text(conditions: str, every: Sequence[Constants]) -> str:
    return json.dumps({"conditions": conditions, "campaigns": [asdict(one) for one in every]}, indent=1) + "\n"


def _read(path: Path) -> tuple[str, list[Constants]]:
    told = json.loads(path.read_text(encoding="utf-8"))
    return told["conditions"], [_constants_of(one) for one in told["campaigns"]]


def _constants_of(told: Mapping[str, Any]) -> Constants:
    subject = {
        **told["subject"],
        "units": Units(**told["subject"]["units"]),
        "costs": Costs(**told["subject"]["costs"]),
    }
    seen = tuple(Seen(**one) for one in told["seen"])
    return Constants(told["told"], Subject(**subject), seen, told["executions"], told["covered"])


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--constants", type=Path, help="file to read constants from, or to write them to if it is not there"
    )
    parser.add_argument("--quick", action="store_true", help="LeNet-5 alone and tiny budgets, to try the script")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    return parser


if __name__ == "__main__":
    sys.exit(main())

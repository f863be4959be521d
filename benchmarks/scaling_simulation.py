"""What synchronising costs with 8, 64 and 512 workers, by a simulation with constants that are measured here.

Measures LeNet-5 and a network of ResNet-50's size with 1, 2 and 4 workers of Ray. Then simulates 2 and 4 workers on
this machine's processors, prints that beside what was measured, and simulates up to 512 with a processor each.
`--write` puts the tables between the marks of docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from scipy.optimize import nnls

from bench.kept import Conditions
from crew_measured import Measured, measured
from crew_model import Costs, Numbers, Simulated, Simulation, Subject, Units
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
    processors: float  # that the driver's process left for workers
    driver: float  # of a processor, the thread that takes over
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
    at_first, longer = (5, 20) if options.quick else (60, 600)
    tables = {
        "scaling: constants": _constants_table(every) + f"\n\n*{conditions}.*",
        "scaling: check": _check_table(every),
        "scaling: simulation": "\n\n".join(
            _simulation_table(one, seconds, True) for one in every for seconds in (at_first, longer)
        ),
        "scaling: unbounded": "\n\n".join(_simulation_table(one, at_first, False) for one in every),
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
    one, *several = (measured(campaign.options, workers, seconds) for workers in (1, *CHECKED))
    turns = [turn for run in several for turn in run.turns]
    bulletins = [bulletin for run in several for bulletin in run.told.bulletins]
    last = one.points[-1]
    subject = Subject(
        units=_units(one),
        costs=_costs(several),
        input_bytes=one.input_bytes,
        entry_bytes=sum(turn.bytes_in for turn in turns) / sum(turn.kept for turn in turns),
        told_bytes=sum(size for _, size in bulletins) / sum(entries for entries, _ in bulletins),
        round_bytes=ROUND_BYTES,
        step_rows=one.lines[1].planned,
    )
    return Constants(
        campaign.told, subject, tuple(map(_seen, several)), last.executions, last.coverage["kmnc"]["covered"]
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


def _left_by_driver(run: Measured) -> float:
    """Processors for workers."""
    return (psutil.cpu_count() or 1) - run.process / run.seconds


def _costs(several: Sequence[Measured]) -> Costs:
    """Fits what rounds, bulletins and entries cost to all rounds of these runs; what workers do, to the first's."""
    two = several[0]
    turns = [turn for run in several for turn in run.turns]
    slow = max(1.0, two.workers / _left_by_driver(two))
    round_, handed = _fitted(
        two.turns[two.workers :],
        lambda turn: (1, turn.kept_before),
        lambda turn: (turn.elapsed - turn.busy) / slow - turn.taking_in,
    )
    bulletin, told = _fitted(turns, lambda turn: (turn.bulletins, turn.told), lambda turn: turn.taking_in)
    after = [(before, turn) for run in several for before, turn in pairwise(run.turns)]
    turn_, entry, put_out = _fitted(after, lambda pair: (1, pair[0].kept, pair[1].put_out), lambda pair: pair[1].driver)
    calls = [call for run in several for call in run.told.calls]
    _, asked = _fitted(calls, lambda pair: (1, pair[0]), lambda pair: pair[1])
    return Costs(
        execution=sum(turn.busy for turn in two.turns) / sum(turn.ran for turn in two.turns) / slow,
        round=round_,
        bulletin=bulletin,
        told=told,
        handed=handed,
        turn=turn_,
        entry=entry,
        put_out=put_out,
        asked=asked,
    )


def _fitted(
    rows: Sequence[Any], causes: Callable[[Any], tuple[float, ...]], seconds: Callable[[Any], float]
) -> list[float]:
    """What each cause costs, none less than nothing, by least squares."""
    if not rows:
        raise RuntimeError("workers did no rounds to measure: runs must take longer here")
    matrix, effects = np.array([causes(row) for row in rows], float), np.array([seconds(row) for row in rows])
    scale = np.maximum(matrix.max(0), 1e-12)
    costs: Numbers = nnls(matrix / scale, np.maximum(effects, 0))[0] / scale
    return [float(cost) for cost in costs]


def _seen(measured: Measured) -> Seen:
    turns, workers = measured.turns, measured.summary.workers
    assert workers is not None, "it ran with workers"
    kept = sum(turn.kept for turn in turns)
    return Seen(
        measured.workers,
        measured.seconds,
        sum(turn.ran for turn in turns) / measured.seconds,
        sum(turn.bytes_in for turn in turns) / measured.seconds,
        sum(size for _, size in measured.told.bulletins) / measured.seconds,
        _left_by_driver(measured),
        measured.driver / measured.seconds,
        workers.synchronising,
        workers.duplicates / max(1, kept),
    )


def _constants_table(every: Sequence[Constants]) -> str:
    """One column for each campaign."""
    rows: list[tuple[str, Callable[[Constants], str]]] = [
        (
            "executions a second of a worker with a processor of its own",
            lambda one: f"{1 / _costs_of(one).execution:,.1f}",
        ),
        ("executions of a step, at first", lambda one: f"{one.subject.step_rows:,.0f}"),
        ("bytes of an entry that is handed over", lambda one: f"{one.subject.entry_bytes:,.0f}"),
        ("bytes of an entry that others are told of", lambda one: f"{one.subject.told_bytes:,.0f}"),
        ("worker: a round", lambda one: _micro(_costs_of(one).round)),
        ("worker: an entry handed over", lambda one: _micro(_costs_of(one).handed)),
        ("worker: a bulletin taken in", lambda one: _micro(_costs_of(one).bulletin)),
        ("worker: an entry of it", lambda one: _micro(_costs_of(one).told)),
        ("driver: a round", lambda one: _micro(_costs_of(one).turn)),
        ("driver: an entry", lambda one: _micro(_costs_of(one).entry)),
        ("driver: a bulletin put out", lambda one: _micro(_costs_of(one).put_out)),
        ("driver: a bulletin told to one worker", lambda one: _micro(_costs_of(one).asked)),
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
    headings = (
        *("run", "executions/s", "duplicates", "synchronising", "driver busy"),
        *("MB/s to the driver", "MB/s of news"),
    )
    return markdown_table(headings, [cells for one in every for cells in _checks(one)])


def _checks(constants: Constants) -> Iterator[list[str]]:
    """Every cell: simulated, then measured."""
    for seen in constants.seen:
        run = Simulation(constants.subject, seen.workers, seen.processors).run(seen.seconds)
        yield [
            f"{constants.told}, {seen.workers} workers: simulated / measured",
            f"{run.rate:,.0f} / {seen.rate:,.0f}",
            f"{run.duplicates:.1%} / {seen.duplicates:.1%}",
            f"{run.synchronising:.1%} / {seen.synchronising:.1%}",
            f"{run.utilisation:.0%} / {seen.driver:.0%}",
            f"{run.bytes_in / 1e6:,.1f} / {seen.bytes_in / 1e6:,.1f}",
            f"{run.bytes_out / 1e6:,.1f} / {seen.bytes_out / 1e6:,.1f}",
        ]


def _simulation_table(constants: Constants, seconds: float, bounded: bool) -> str:
    runs = [Simulation(constants.subject, number, bounded=bounded).run(seconds) for number in NUMBERS]
    bound = "" if bounded else ", if workers kept all that is new to them"
    title = f"{constants.told}, the first {seconds:.0f} s, a processor for each worker and for the driver{bound}:"
    return f"{title}\n\n{markdown_table(HEADINGS, [_cells(run, runs[0].rate) for run in runs])}"


HEADINGS = (
    *("workers", "executions/s (times one)", "to the driver, MB/s (busiest second)", "news, MB/s put out (each takes)"),
    *("driver busy", "its longest queue", "workers synchronising or waiting", "age of news, mean (worst)"),
    *("duplicates", "not looked at for want of room"),
)


def _cells(run: Simulated, alone: float) -> list[str]:
    return [
        str(run.workers),
        f"{run.rate:,.0f} ({run.rate / alone:.1f}×)",
        f"{run.bytes_in / 1e6:,.1f} ({run.peak_in / 1e6:,.0f})",
        f"{run.bytes_out / 1e6:,.1f} ({run.bytes_taken / 1e6:,.1f})",
        f"{run.utilisation:.0%}",
        f"{run.queue:,.1f} s",
        f"{run.synchronising:.1%}",
        f"{run.stale:.1f} s ({run.stalest:.1f})" if run.workers > 1 else "",
        f"{run.duplicates:.1%}",
        f"{run.passed_over:.1%}",
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

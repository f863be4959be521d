"""The end of every script that measures: prints its rows as they come, keeps them, and renews its block."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.block import PAGE, check_place, renew_block
from bench.kept import Conditions, Kept, keep
from bench.rows import Row
from jostle.errors import JostleError
from paper.table import Data, data_of

HOME = Path(__file__).parents[2]
REFUSED = 4
Measure = Callable[[Data], Iterable[Row]]


def run_script(script: str, measure: Measure, arguments: Sequence[str] | None = None, home: Path = HOME) -> int:
    """The exit code: 0, or 4 if what was asked for cannot be measured; with `--quick` nothing is written."""
    name = Path(script).stem
    given = _parser(name).parse_args(arguments)
    try:
        data = data_of(given.data, given.quick)
        if not data.quick:
            check_place(home, name)
        kept = _measured(name, measure, data)
    except JostleError as error:
        print(error, file=sys.stderr)
        return REFUSED
    if not data.quick:
        keep(home, name, kept)
        renew_block(home, name)
        print(f"written: {home / PAGE}")
    return 0


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python benchmarks/{name}.py", description=f"make bench ONLY={name}")
    parser.add_argument(
        "--data",
        default=os.environ.get("JOSTLE_DATA"),
        help="folder with the papers' networks and images (or JOSTLE_DATA)",
    )
    parser.add_argument("--quick", action="store_true", help="tiny budgets, to try the script; nothing is written")
    return parser


def _measured(name: str, measure: Measure, data: Data) -> Kept:
    conditions = Conditions.here(f"python benchmarks/{name}.py{' --data FOLDER' if data.folder else ''}")
    started, rows = time.perf_counter(), []
    for row in measure(data):
        print(f"  {row}", flush=True)
        rows.append(row)
    return Kept(conditions, round((time.perf_counter() - started) / 60, 1), tuple(rows))

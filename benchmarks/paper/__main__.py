"""Measures the cells that are missing, two at a time, and writes the page: `make paper`, `make paper ONLY=table5`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from jostle.errors import JostleError, UsageError
from jostle.options.choices import chosen
from paper.page import write_page
from paper.results import Results
from paper.run import measure_missing
from paper.table import Table, data_of

HOME = Path(__file__).parents[2]
FAILED, REFUSED, INTERRUPTED = 1, 4, 130


def main(arguments: Sequence[str], tables: Mapping[str, Table], home: Path = HOME) -> int:
    """The exit code: 0, 1 if a cell failed, 4 if what was asked for cannot be measured."""
    given = _parser(tables).parse_args(arguments)
    try:
        return _run([tables[chosen("ONLY", name, tables)] for name in given.tables], given, tables, home)
    except UsageError as error:
        return _said(str(error), REFUSED)
    except JostleError as error:
        return _said(str(error), FAILED)
    except KeyboardInterrupt:
        return _said("interrupted; what was measured is kept, and the same command goes on", INTERRUPTED)


def _parser(tables: Mapping[str, Table]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(tables)}; all if none is named")
    parser.add_argument(
        "--data",
        default=os.environ.get("JOSTLE_DATA"),
        help="folder with the papers' networks and images (or JOSTLE_DATA)",
    )
    parser.add_argument("--quick", action="store_true", help="tiny budgets, to try the tables; the page is kept apart")
    parser.add_argument("--processes", type=int, default=2, help="cells measured at once, one thread each")
    return parser


def _run(only: Sequence[Table], given: argparse.Namespace, tables: Mapping[str, Table], home: Path) -> int:
    data = data_of(given.data, given.quick)
    tried = home / "jostle-runs" / "paper-quick"
    results = Results(tried if data.quick else home / "jostle-runs" / "paper", data)
    cells = {name: table.cells(data) for name, table in tables.items()}
    failed = measure_missing(only or list(tables.values()), cells, results, data, given.processes)
    page = (tried if data.quick else home / "docs") / "paper.md"
    write_page(page, list(tables.values()), cells, results, data)
    print(f"written: {page}")
    return FAILED if failed else 0


def _said(line: str, code: int) -> int:
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    from paper.tables import TABLES  # whose modules import torch; a cell's process needs those of its own table only

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that cells' processes end with this one
    sys.exit(main(sys.argv[1:], TABLES))

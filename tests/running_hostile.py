"""A program: fuzzes hostile models one after another in this one process, and prints what came of each as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import hostile
from jostle.cli.main import run_command

COURSE = "--range 0,1 --oracle nan --executions 48 --batch 8 --scheduler uniform --seed 4 --no-confirm"


@dataclass(frozen=True)
class Fuzzed:
    """What came of fuzzing one hostile model."""

    code: int
    err: str
    fingerprints: list[str]
    executions: int
    seconds: float


def fuzzed(name: str, folder: Path, *more: str) -> Fuzzed:
    """Runs a campaign over a hostile model in a folder that holds seeds.npy."""
    out, err = folder / f"out-{name}", io.StringIO()
    os.environ[hostile.CAMPAIGN] = str(out)
    place = ["--seeds", str(folder / "seeds.npy"), "--out", str(out)]
    sys.argv = ["jostle", "fuzz", f"{hostile.__file__}:{name}_model", *place, *COURSE.split(), *more]
    started = time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = run_command()
    journal = out / "journal.jsonl"
    steps = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    found = [json.loads(path.read_text())["fingerprint"] for path in out.glob("findings/*/finding.json")]
    executions = steps[-1]["executions"] if steps else 0
    shutil.rmtree(out, ignore_errors=True)
    return Fuzzed(code, err.getvalue(), found, executions, time.monotonic() - started)


def main() -> None:
    """Arguments: a folder that holds seeds.npy, names with commas between them, and options for each campaign."""
    folder, names, *more = sys.argv[1:]
    for name in names.split(","):
        said = asdict(fuzzed(name, Path(folder), *more))
        print(json.dumps({"name": name, **said}), flush=True)


if __name__ == "__main__":
    main()

"""A program: fuzzes hostile models one after another in this one process, and writes what came of each as JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import hostile
from jostle.cli.run_command import run_command
from jostle.isolation.ahead import MODEL_WORKER, started_ahead

COURSE = "--range 0,1 --oracle nan --executions 48 --batch 8 --scheduler uniform --seed 4 --no-confirm"
RESULTS, STDERR = "results.jsonl", "stderr.txt"  # in the folder


@dataclass(frozen=True)
class Fuzzed:
    """What came of fuzzing one hostile model."""

    name: str
    code: int
    err: str
    fingerprints: list[str]
    executions: int


def fuzzed(name: str, folder: Path, *more: str) -> Fuzzed:
    """Runs a campaign over a hostile model in a folder that holds seeds.npy and takes our stderr."""
    out, err = folder / f"out-{name}", folder / STDERR
    place = ["--seeds", str(folder / "seeds.npy"), "--out", str(out)]
    sys.argv = ["jostle", "fuzz", f"{hostile.__file__}:{name}_model", *place, *COURSE.split(), *more]
    said = err.stat().st_size
    code = run_command()
    sys.stderr.flush()
    journal = out / "journal.jsonl"
    steps = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    found = [json.loads(path.read_text())["fingerprint"] for path in out.glob("findings/*/finding.json")]
    executions = steps[-1]["executions"] if steps else 0
    shutil.rmtree(out, ignore_errors=True)
    text = err.read_bytes()[said:].decode(errors="replace")
    return Fuzzed(name, code, text, found, executions)


def main() -> None:
    """Arguments: a folder that holds seeds.npy, names with commas between them, and options for each campaign."""
    folder, names, *more = sys.argv[1:]
    for descriptor, name in ((1, "stdout.txt"), (2, STDERR)):
        with (Path(folder) / name).open("ab") as file:
            os.dup2(file.fileno(), descriptor)
    os.environ[hostile.CAMPAIGN] = str(Path(folder) / "out-campaign_removed")  # which workers inherit
    with started_ahead(MODEL_WORKER):  # what workers are forked from is imported once for all of them
        for name in names.split(","):
            said = asdict(fuzzed(name, Path(folder), *more))
            with (Path(folder) / RESULTS).open("a") as file:
                file.write(json.dumps(said) + "\n")
    os._exit(0)  # one of them leaves a thread behind


if __name__ == "__main__":
    main()

"""Kills, damages and starves campaigns hundreds of times: the long form of every test that is marked `soak`.

Goes on where it stopped, as long as the code is the same; tests that fail are run again, alone, to tell those that fail
each time from those that fail by chance.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HOUSE = Path(__file__).parents[1]
RECORDS = HOUSE / "jostle-runs" / "soak"
AGAIN = 3  # times that a test which failed is tried alone
sys.path.insert(0, str(HOUSE / "tests"))

from soak_record import BEFORE, FOLDER, counts, failed_in, passed_in  # noqa: E402 - stands beside the tests


def main(arguments: Sequence[str]) -> int:
    folder = RECORDS / code_here()
    folder.mkdir(parents=True, exist_ok=True)
    if before := len(passed_in(folder)):
        print(f"going on: {before} tests passed on this code before (remove {folder} to begin anew)")
    failed_once = run_all(folder, arguments)
    if failed_once:
        tell_flaky({test: [passes_alone(test) for _ in range(AGAIN)] for test in failed_once})
    passed = passed_in(folder)
    print(f"{len(passed)} tests passed, {sum(one.seconds for one in passed) / 60:.0f} minutes of tests")
    for name, count in sorted(counts(passed).items()):
        print(f"{count:>9,} {name}")
    return 1 if failed_once else 0


def code_here() -> str:
    """The commit, and what differs from it."""
    commit = _git("rev-parse", "--short=10", "HEAD").strip()
    changes = _git("diff", "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    return f"{commit}-{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else commit


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=HOUSE, check=True, capture_output=True, text=True).stdout


def run_all(folder: Path, arguments: Sequence[str]) -> list[str]:
    """Runs what has not passed yet; the tests that failed."""
    call = ["-m", "soak", "-n", "2", "--dist", "worksteal", "-p", "soak_record", *(arguments or ["tests"])]
    code = _pytest(call, {FOLDER: str(folder)}).returncode
    failed = failed_in(folder)
    if code not in (0, 1, 5) or (code == 1 and not failed):  # 5: nothing was left to run
        sys.exit(code)
    return failed


def passes_alone(test: str) -> bool:
    return _pytest([test, "--quiet", "--tb=no"], {}).returncode == 0


def _pytest(arguments: Sequence[str], more: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    paths = os.pathsep.join(filter(None, [str(HOUSE / "tests"), os.environ.get("PYTHONPATH", "")]))
    chosen = {"JOSTLE_SOAK": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, **more}
    environment = {name: value for name, value in os.environ.items() if name != BEFORE} | chosen
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *arguments], cwd=HOUSE, env=environment, check=False)


def tell_flaky(again: dict[str, list[bool]]) -> None:
    for test, passes in again.items():
        often = f"passed alone {sum(passes)} of {AGAIN} times"
        print(f"{'FLAKY' if any(passes) else 'FAILED'}: {test} ({often})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

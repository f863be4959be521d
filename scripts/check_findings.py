"""Runs every script of docs/findings in a process of its own and prints which defects are still there."""

import argparse
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "findings"
SECONDS = 300
REASON = "# Fails with: "  # in a script: what it writes, or the signal that ends it, while the defect is there
USUAL = "AssertionError"
ENDLESS = "no end"


def main() -> None:
    """Prints a line for each script: "there", "gone", "fails otherwise" and how, or "framework not installed"."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names, such as torch or paddle_max; default: all")
    wanted = tuple(parser.parse_args().names) or ("",)
    for script in sorted(FOLDER.glob("*.py")):
        if script.name.startswith(wanted):
            print(f"{state(script):24}{script.stem}", flush=True)


def state(script: Path) -> str:
    """Whether the defect is there: the script fails as it says that it does, or else by an assertion."""
    text = script.read_text()
    needs = {line.split()[1].split(".")[0] for line in text.splitlines() if is_import(line)}
    if any(find_spec(module) is None for module in needs):
        return "framework not installed"
    failure = failure_of(script)
    if failure is None:
        return "gone"
    reasons = [line.removeprefix(REASON) for line in text.splitlines() if line.startswith(REASON)] or [USUAL]
    if any(reason in failure for reason in reasons):
        return "there"
    return f"fails otherwise ({last_line(failure)}): "


def failure_of(script: Path) -> str | None:
    """What a script wrote when it failed, and the signal that ended it; None if it did not fail."""
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    call = [sys.executable, script]
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, errors="replace", env=quiet, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ENDLESS
    if not done.returncode:
        return None
    return f"{done.stderr}\n{signal.Signals(-done.returncode).name}" if done.returncode < 0 else done.stderr


def last_line(text: str) -> str:
    """The last line that says anything."""
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["no message"])[-1][:100]


def is_import(line: str) -> bool:
    """Whether a line of a script imports something."""
    return line.startswith(("import ", "from "))


if __name__ == "__main__":
    main()

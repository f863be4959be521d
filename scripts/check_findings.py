"""Runs every script of docs/findings in a process of its own and prints which defects are still there."""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "findings"
SECONDS = 300


def main() -> None:
    """Prints a line for each script: "there", "gone" or "framework not installed"."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names, such as torch or paddle_max; default: all")
    wanted = tuple(parser.parse_args().names) or ("",)
    for script in sorted(FOLDER.glob("*.py")):
        if script.name.startswith(wanted):
            print(f"{state(script):24}{script.stem}", flush=True)


def state(script: Path) -> str:
    """Whether the defect is there: a script fails, or its process is ended, as long as it is."""
    needs = {line.split()[1].split(".")[0] for line in script.read_text().splitlines() if is_import(line)}
    if any(find_spec(module) is None for module in needs):
        return "framework not installed"
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run([sys.executable, script], capture_output=True, env=quiet, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "there"
    return "there" if done.returncode else "gone"


def is_import(line: str) -> bool:
    """Whether a line of a script imports something."""
    return line.startswith(("import ", "from "))


if __name__ == "__main__":
    main()

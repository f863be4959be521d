"""Loads every file below a folder as it would be on the command line, and prints a line of JSON for each.

A process of its own, so that a crash is seen and its peak of memory is that of these files.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

from jostle.errors import UsageError
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.profile import load_profile
from jostle.subjects.registry import load as load_subject
from jostle.subjects.tokenizer import load_tokenizer


def load(path: Path, source: str) -> str | None:
    """Why the file was refused, None if it was not."""
    try:
        match path.parent.name:
            case "models":
                load_subject(str(path))
            case "weights":
                load_subject(source, weights=str(path))
            case "seeds":
                load_seeds(str(path), SeedForm())
            case "texts":
                load_seeds(str(path), SeedForm(texts=True))
            case "tokenizers":
                load_tokenizer(str(path), 16, None)
            case "profiles":
                load_profile(path, {})
    except UsageError as error:
        return str(error)
    return None


def say(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def peak() -> int:
    """Bytes of memory at most, up to now; getrusage would count what started this process too."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) * 1024


def main() -> None:
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    for path in sorted(folder.glob("*/*")):
        say(file=f"{path.parent.name}/{path.name}")
        begun = time.process_time()
        refused = load(path, f"{folder / 'net.py'}:build")
        say(refused=refused, seconds=time.process_time() - begun, peak=peak())


if __name__ == "__main__":
    main()

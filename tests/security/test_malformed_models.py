"""A malformed model is refused in one line, soon, and in little memory, whatever is wrong with it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from commanding import run
from malformed import SOURCE, doubtful_files, odd_places, refused_files

from jostle.cli.terminal import Exit
from soaking import times

SECONDS, MEMORY = 10, 10**9  # for each file
PATIENCE = times(900, 3600)  # seconds for all
LOADER = Path(__file__).with_name("loading_each.py")
# One of each kind of damage, and of each format, for the whole command.
SAMPLE = (
    *("models/bomb.pt2", "models/cyclic.pt2", "models/deep.pt2", "models/pipe.pt"),
    *("weights/header-too-large.safetensors", "weights/pipe.safetensors", "weights/many-lists.pth", "weights/bomb.pth"),
)

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Tried:
    """What came of loading one file."""

    file: str
    refused: str | None = None
    seconds: float = 0.0
    peak: int = 0


@dataclass(frozen=True)
class Malformed:
    """A folder of malformed files."""

    folder: Path
    refused: list[str]
    doubtful: list[str]


@pytest.fixture(scope="module")
def malformed(tmp_path_factory: pytest.TempPathFactory) -> Malformed:
    folder = tmp_path_factory.mktemp("malformed")
    (folder / "net.py").write_text(SOURCE)
    np.save(folder / "seeds.npy", np.linspace(0, 1, 80, dtype=np.float32).reshape(20, 4))
    refused = [str(path.relative_to(folder)) for path in odd_places(folder)]
    doubtful = []
    for names, files in ((refused, refused_files()), (doubtful, doubtful_files(times(15, 1000)))):
        for name, content in files:
            (folder / name).write_bytes(content)
            names.append(name)
    return Malformed(folder, refused, doubtful)


@pytest.fixture(scope="module")
def tried(malformed: Malformed) -> dict[str, Tried]:
    done = subprocess.run(
        [sys.executable, str(LOADER), str(malformed.folder)], capture_output=True, text=True, timeout=PATIENCE
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"loading {told[-1]} ended the process: {done.stderr}"
    assert not done.stderr
    return {file["file"]: Tried(**file, **ended) for file, ended in zip(told[::2], told[1::2], strict=True)}


def test_more_than_three_hundred_malformed_files_are_refused_in_one_line(
    malformed: Malformed, tried: dict[str, Tried]
) -> None:
    assert len(malformed.refused) >= 300
    for name in malformed.refused:
        message = tried[name].refused
        assert message is not None, f"{name} was loaded"
        assert len(message.splitlines()) == 1 and len(message) < 1000, name


def test_a_file_with_one_change_is_refused_in_one_line_or_the_change_does_not_matter(
    malformed: Malformed, tried: dict[str, Tried]
) -> None:
    messages = [tried[name].refused for name in malformed.doubtful]
    assert all(len(message.splitlines()) == 1 for message in messages if message is not None)
    assert messages.count(None) < len(messages) / 3


def test_no_file_takes_long_or_much_memory(tried: dict[str, Tried]) -> None:
    slowest = max(tried.values(), key=lambda one: one.seconds)
    assert slowest.seconds < SECONDS, slowest
    assert max(one.peak for one in tried.values()) < MEMORY


@pytest.mark.soak
def test_the_command_ends_with_one_line_soon_and_in_little_memory(malformed: Malformed) -> None:
    start = run(
        "fuzz", "none.onnx", "--seeds", "seeds.npy", "--out", "out", cwd=malformed.folder
    ).seconds  # of two processes
    for name in (*SAMPLE[:: times(4, 1)], *malformed.refused[:: max(1, len(malformed.refused) // times(1, 150))][1:]):
        model = [name] if name.startswith("models/") else ["net.py:build", "--weights", name]
        ran = run("fuzz", *model, "--seeds", "seeds.npy", "--executions", "40", "--out", "out", cwd=malformed.folder)
        assert ran.code == Exit.USAGE, (name, ran)
        assert ran.out == "" and len(ran.err.splitlines()) == 1 and ran.err.startswith("jostle: "), (name, ran)
        assert ran.seconds - start < SECONDS and ran.peak < MEMORY, (name, ran)
        assert not (malformed.folder / "out").exists()

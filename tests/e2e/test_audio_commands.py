"""Waves, from the flags to the folder."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from running import Ended

from jostle.cli.terminal import Exit
from jostle.inputs.audio import encoded_wave

Run = Callable[..., Ended]
EXAMPLE = Path(__file__).parents[2] / "examples" / "audio.py"
MODEL, SEEDS = f"{EXAMPLE}:model", f"{EXAMPLE}:seeds"


def test_the_beep_that_comes_later_is_found_and_can_be_heard_and_seen(jostle: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = jostle("fuzz", MODEL, "--seeds", SEEDS, "--rate", "8000", "--executions", "1500", "--out", str(out))
    assert ended.code == Exit.FINDINGS, ended.err
    assert "audio: 0.5 s at 8000 Hz, 1 channel" in ended.err
    found = next(out.glob("findings/*-flip-*"))
    with wave.open(str(found / "input.wav")) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, 4000)
    assert (found / "seed.wav").exists() and (found / "picture.png").exists()


def test_a_folder_of_files_is_fuzzed_and_a_campaign_goes_on(jostle: Run, tmp_path: Path) -> None:
    write_beeps(tmp_path / "beeps")
    call = [
        "fuzz",
        MODEL,
        "--seeds",
        str(tmp_path / "beeps"),
        "--out",
        str(tmp_path / "out"),
        "--effects",
        "shift,gain",
    ]
    assert jostle(*call, "--executions", "800").code == Exit.FINDINGS
    ended = jostle(*call, "--executions", "1200")
    assert ended.code == Exit.FINDINGS and "1,200 in" in ended.out, ended.err
    found = next((tmp_path / "out").glob("findings/*-flip-*"))
    assert jostle("replay", str(found)).code == Exit.FINDINGS


def write_beeps(folder: Path) -> None:
    """Some seeds of the example as files, a subfolder for each class."""
    namespace: dict[str, Callable[[], tuple[torch.Tensor, torch.Tensor]]] = {}
    exec(compile(EXAMPLE.read_text(), str(EXAMPLE), "exec"), namespace)
    for number, (beep, label) in enumerate(zip(*namespace["seeds"](), strict=True)):
        place = folder / str(int(label)) / f"{number}.wav"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded_wave(beep, 8000))


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [
        (f"{MODEL} --seeds beeps --rate 16000", "has a rate of 8000 Hz, not 16000", "resample it"),
        (f"{MODEL} --seeds ragged", "waves differ", "give --length SAMPLES"),
        (f"{MODEL} --seeds broken.wav", "broken.wav is not a readable wave", "save it as PCM"),
        (f"{MODEL} --seeds {SEEDS} --length 10", "--length is for waves", "give their --rate too"),
        (f"{MODEL} --seeds {SEEDS} --rate 0", "--rate 0", "at least 1"),
        (f"{MODEL} --seeds {SEEDS} --rate 8000 --effects echo", "--effects 'echo' is unknown", "gain"),
        (f"{MODEL} --seeds {SEEDS} --range -1,1 --mutator audio", "--mutator audio needs waves", "--rate"),
        (f"{MODEL} --seeds beeps --size 3,3", "--channels and --size are for image files", "leave them out"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(
    arguments: str, cause: str, fix: str, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_beeps(tmp_path / "beeps")
    (tmp_path / "ragged").mkdir()
    for length in (100, 90):
        (tmp_path / "ragged" / f"{length}.wav").write_bytes(encoded_wave(torch.zeros(1, length), 8000))
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    ended = jostle("fuzz", *arguments.split(), "--executions", "600")
    assert ended.code == Exit.USAGE, ended.err
    (line,) = ended.err.splitlines()
    assert cause in line and fix in line

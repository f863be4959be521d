"""Malformed seeds and profiles: refused in one line before they fill memory or keep anybody waiting."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from commanding import run
from malformed import ODD, zipped
from malformed_seeds import malformed_files

from jostle.cli.terminal import Exit
from jostle.inputs.seeds import SeedForm, load_seeds
from soaking import times

LOADER = Path(__file__).with_name("loading_each.py")
SECONDS, MEMORY, PATIENCE = 10, 10**9, 900
LONGEST = 1000  # characters of a message

PLACES = (
    *(f"seeds/{{}}.{suffix}" for suffix in ("npy", "npz", "png", "csv", "parquet", "wav")),
    "texts/{}.txt",
    "tokenizers/{}.json",
    "profiles/{}.safetensors",
)


def array(shape: str, dtype: str = "<f4", data: bytes = bytes(96), version: int = 1) -> bytes:
    """An .npy file that claims what it likes."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


ARRAYS = {
    "claims-a-trillion": array(f"({10**12}, 4)"),
    "claims-ten-billion": array(f"({10**10}, 4)"),
    "claims-ten-billion-bytes": array(f"({10**10},)", "|u1"),
    "overflows": array(f"({2**62}, {2**62})"),
    "overflows-to-nothing": array(f"({2**32}, {2**32})"),
    "rows-without-values": array(f"({10**12}, 0)"),
    "negative": array("(-6, -4)"),
    "one-negative": array("(-1, 4)"),
    "of-fractions": array("(6.0, 4.0)"),
    "of-words": array("('6', '4')"),
    "nested": array("((6, 4),)"),
    "shape-a-number": array("24"),
    "code-as-shape": array("(__import__('os').getpid(), 4)"),
    "deep": array("(" * 5000 + ")" * 5000),
    "many-dimensions": array(str((1,) * 2000)),
    "unknown-dtype": array("(6, 4)", "<q9"),
    "structured": array("(6, 4)", "[('a', '<f4')]"),
    "wide-text": array("(1, 1)", f"<U{2**28}"),
    "of-nothing": array("(6, 4)", "|V0"),
    "objects": array("(6, 4)", "|O"),
    "short": array("(6, 4)", data=bytes(95)),
    "no-data": array("(6, 4)", data=b""),
    "long-header": array("(6, 4)" + " " * 10**6, version=2),
    "header-beyond-the-end": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{",
    "version-of-tomorrow": array("(6, 4)", version=9),
    "cut": array("(6, 4)")[:20],
    "magic-alone": b"\x93NUMPY",
    "text": b"1, 2, 3\n",
}


def packed(bomb: int) -> bytes:
    """A zip with an honest array of zeros of so many bytes."""
    content = io.BytesIO()
    start = array(f"({bomb}, 1)", "|u1", b"")
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        member.write(start)
        for _ in range(bomb // 2**20):
            member.write(bytes(2**20))
    return content.getvalue()


def picture(width: int, height: int) -> bytes:
    """A PNG that claims so many pixels and holds a few."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def profile(told: object, low: int = 3) -> bytes:
    arrays = {"low": torch.zeros(low), "high": torch.ones(3)}
    return safetensors.torch.save(arrays, {"profile": told if isinstance(told, str) else json.dumps(told)})


GOOD_PROFILE = {"layers": [["fc", 3]], "inputs": 5, "belongs to": {}}
PROFILES = {
    "of-no-layers": profile({**GOOD_PROFILE, "layers": []}),
    "of-nested-layers": profile({**GOOD_PROFILE, "layers": [[["fc"], [3]]]}),
    "of-infinite-layers": profile('{"layers": [["fc", Infinity]], "inputs": 5, "belongs to": {}}'),
    "of-huge-layers": profile({**GOOD_PROFILE, "layers": [["fc", 10**12]]}),
    "deep": profile('{"layers":' + "[" * 10**5),
    "no-json": profile("nothing"),
    "a-list": profile([1]),
    "uneven": profile(GOOD_PROFILE, low=2),
    "belongs-to-a-number": profile({**GOOD_PROFILE, "belongs to": 5}),
    "cut": profile(GOOD_PROFILE)[:-1],
    "longer": profile(GOOD_PROFILE) + b"x",
    "header-huge": struct.pack("<Q", 2**62) + b"{}",
    "header-many": struct.pack("<Q", 3 * 10**7 + 4) + b"[" + b"[]," * 10**7 + b"[]]",
}


def files() -> Iterator[tuple[str, bytes]]:
    for name, content in ARRAYS.items():
        yield f"seeds/{name}.npy", content
        yield f"seeds/{name}.npz", zipped({"x.npy": content})
        yield f"seeds/{name}-unpacked.npz", content
    yield "seeds/packed.npy", zipped({"x.npy": array("(6, 4)")})
    yield "seeds/bomb.npz", packed(600 * 2**20)
    yield "seeds/many.npz", zipped({f"{number}.npy": b"" for number in range(20_000)})
    yield "seeds/huge.png", picture(30_000, 30_000)
    yield "seeds/large.png", picture(10_000, 10_000)
    yield "seeds/short.png", picture(100, 100)[:60]
    yield "seeds/thin.png", picture(2**31 - 1, 1)
    yield from malformed_files()
    yield from ((f"profiles/{name}.safetensors", content) for name, content in PROFILES.items())


def test_each_is_refused_in_one_line_soon_and_in_little_memory(tmp_path: Path) -> None:
    for folder in ("seeds", "texts", "tokenizers", "profiles"):
        (tmp_path / folder).mkdir()
    for name, content in files():
        (tmp_path / name).write_bytes(content)
    for place in PLACES:
        for name, make in ODD.items():
            make(tmp_path / place.format(name))
    (tmp_path / "seeds" / "images").mkdir()
    os.mkfifo(tmp_path / "seeds" / "images" / "pipe.png")  # inside a folder of images
    done = subprocess.run(
        [sys.executable, str(LOADER), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"loading {told[-1]} ended the process: {done.stderr}"
    assert not done.stderr
    for file, ended in zip(told[::2], told[1::2], strict=True):
        assert ended["refused"] is not None, f"{file} was loaded"
        assert len(ended["refused"].splitlines()) == 1 and len(ended["refused"]) < LONGEST, file
        assert ended["seconds"] < SECONDS and ended["peak"] < MEMORY, (file, ended)


SAMPLE = (
    "seeds/utf-16.csv",
    "seeds/header-of-many-names.csv",
    "seeds/footer-huge.parquet",
    "seeds/one-long-text.parquet",
    "seeds/claims-four-gigabytes.wav",
    "texts/one-long-among-many.txt",
    "tokenizers/deep.json",
)


@pytest.mark.slow
@pytest.mark.soak
def test_the_command_ends_with_one_line_of_usage(tmp_path: Path) -> None:
    for folder in ("seeds", "texts", "tokenizers"):
        (tmp_path / folder).mkdir()
    contents = dict(malformed_files())
    for name in SAMPLE:
        (tmp_path / name).write_bytes(contents[name])
    (tmp_path / "good.txt").write_text("good\nbad\n")
    os.mkfifo(tmp_path / "seeds" / "pipe.csv")
    for name in ("seeds/pipe.csv", *SAMPLE)[:: times(3, 1)]:
        texts = {"texts": [name, "--tokenizer", "bytes"], "tokenizers": ["good.txt", "--tokenizer", name]}
        seeds = texts.get(name.partition("/")[0], [name])
        ran = run("fuzz", "jostle.zoo:lenet1", "--seeds", *seeds, "--executions", "40", "--out", "out", cwd=tmp_path)
        assert ran.code == Exit.USAGE and ran.out == "", (name, ran)
        assert len(ran.err.splitlines()) == 1 and ran.err.startswith("jostle: "), (name, ran)
        assert ran.peak < MEMORY and not (tmp_path / "out").exists(), (name, ran)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_honest_arrays_load_however_they_are_packed(save: Callable[..., None], tmp_path: Path) -> None:
    x, y = np.arange(24, dtype=np.float64).reshape(6, 4), np.arange(6)
    save(tmp_path / "seeds.npz", x=np.asfortranarray(x), y=y)
    seeds = load_seeds(str(tmp_path / "seeds.npz"), SeedForm())
    assert torch.equal(seeds.inputs, torch.from_numpy(x).float()) and seeds.labels.tolist() == y.tolist()

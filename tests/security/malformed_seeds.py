"""Malformed tables, waves, texts and tokenizers, by the names of their files, the same in each run."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Iterator

import pyarrow
import tokenizers
from pyarrow import parquet

GARBAGE = random.Random(2).randbytes(4000)
LINES = b"age,colour\n30,red\n41,blue\n"
PAGE = b"<!DOCTYPE html><html><body>404</body></html>"

CSV = {
    "garbage": GARBAGE,
    "zeroed": bytes(4000),
    "nul-in-a-cell": b"age,colour\n30,re\0d\n41,blue\n",
    "utf-16": LINES.decode().encode("utf-16"),
    "latin-1": "age,colour\n30,gr\u00fcn\n".encode("latin-1"),
    "cut-in-a-row": LINES[:-6],
    "cut-in-quotes": b'age,colour\n30,"red\n41,blue\n',
    "quoted-to-the-end": b'age,colour\n30,"' + b"red\n" * 10**5,
    "header-alone": b"age,colour\n",
    "no-header": b"1,2\n3,4\n",
    "page-not-found": b"<!DOCTYPE html>\n<p>404, or 403</p>\n",
    "header-without-end": b"a," * 10**7,
    "header-of-a-long-name": b"a" * 10**6 + b",b\n1,2\n",
    "header-of-a-name-that-fills-pages": b"a" * 10**5 + b",b\n1,2\n",
    "header-of-many-names": b",".join(b"c%d" % place for place in range(200_000)) + b"\n1\n",
    "header-of-many-equal-names": b",".join([b"a"] * 10**6) + b"\n1\n",
    "row-without-end": b"age,colour\n" + b"1," * 10**7,
    "long-cell": b"age,colour\n30," + b"x" * 10**6 + b"\n",
    "rounded": b"age,colour\n16777217,red\n",
    "many-digits": b"age,colour\n" + b"9" * 10**5 + b",red\n",
    "blank": b"age,colour\n" + b"\n" * 10**6,
}


def written(table: pyarrow.Table, **how: object) -> bytes:
    content = io.BytesIO()
    parquet.write_table(table, content, **how)
    return content.getvalue()


def tables() -> dict[str, bytes]:
    good = written(pyarrow.table({"age": [30, 41], "colour": ["red", "blue"]}))
    ends = [1, 4, 8, len(good) // 2, len(good) - 8, len(good) - 1]
    text = pyarrow.array(["x" * 2**20] * 300)
    return {
        **{f"cut-{end}": good[:end] for end in ends},
        "garbage": GARBAGE,
        "zeroed": bytes(4000),
        "magic-alone": b"PAR1",
        "magic-twice": b"PAR1PAR1",
        "garbage-within": b"PAR1" + GARBAGE + struct.pack("<I", 3000) + b"PAR1",
        "footer-beyond-the-start": good[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1",
        "footer-huge": good[:-8] + struct.pack("<I", 2**32 - 1) + b"PAR1",
        "footer-of-nothing": good[:-8] + struct.pack("<I", 0) + b"PAR1",
        "pages-garbled": good[:4] + GARBAGE[: len(good) // 8] + good[4 + len(good) // 8 :],
        "csv": LINES,
        "page-not-found": PAGE,
        "one-long-text": written(pyarrow.table({"a": text})),
        "starts-shared": written(pyarrow.table({"a": text}), use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY"),
        "one-long-key": written(pyarrow.table({"a": pyarrow.array([b"x" * 2**20] * 300, pyarrow.binary(2**20))})),
        "packed": written(pyarrow.table({"a": ["x" * 2**20 + str(row) for row in range(260)]}), use_dictionary=False),
        "many-values": written(pyarrow.table({"a": pyarrow.nulls(20_000_001, pyarrow.int8())})),
        "lists": written(pyarrow.table({"a": [[1, 2], [3, 4]]})),
        "no-rows": written(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())})),
        "no-columns": written(pyarrow.table({})),
    }


def wave(
    samples: bytes = bytes(8),
    size: int | None = None,
    channels: int = 1,
    bits: int = 16,
    kind: int = 1,
    rate: int = 16_000,
) -> bytes:
    """A .wav file that claims what it likes."""
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * 2 % 2**32, 2, bits)
    data = b"data" + struct.pack("<I", len(samples) if size is None else size) + samples
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


WAVES = {
    **{f"cut-{end}": wave()[:end] for end in (1, 4, 12, 20, 36, 43, 44)},
    "garbage": GARBAGE,
    "zeroed": bytes(4000),
    "text": b"hear, hear\n" * 100,
    "page-not-found": PAGE,
    "garbage-within": b"RIFF" + struct.pack("<I", 4000) + b"WAVE" + GARBAGE,
    "claims-four-gigabytes": wave(size=2**32 - 1),
    "claims-more": wave(size=2**20),
    "chunk-beyond-the-end": b"RIFF" + struct.pack("<I", 2**32 - 1) + b"WAVEfmt " + struct.pack("<I", 2**32 - 1),
    "no-samples": wave(b""),
    "no-channels": wave(channels=0),
    "many-channels": wave(channels=65535),
    "no-bits": wave(bits=0),
    "many-bits": wave(bits=65528, samples=bytes(2**14)),
    "compressed": wave(kind=85),
    "floats": wave(kind=3, bits=32),
    "other-end": wave().replace(b"RIFF", b"RIFX"),
}
TEXTS = {
    "garbage": GARBAGE,
    "zeroed": bytes(4000),
    "nul": b"good\nba\0d\n",
    "utf-16": "good\nbad\n".encode("utf-16"),
    "latin-1": "sch\u00f6n\n".encode("latin-1"),
    "half-a-character": "sch\u00f6n".encode()[:4],
    "half-of-a-pair": b"\xed\xa0\x80",
    "overlong": b"\xc0\xaf\n",
    "beyond-unicode": b"\xf5\x80\x80\x80\n",
    "blank": b" \n\t\n" * 1000,
    "long": b"x" * 100_001,
    "one-long-among-many": b"short\n" * 20_000 + b"x" * 100_000,
    "many": b"a\n" * 4_000_000,
}


def tokenizer(**changed: object) -> bytes:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "good": 1}, unk_token="[UNK]"))
    return json.dumps({**json.loads(made.to_str()), **changed}).encode()


TOKENIZERS = {
    **{f"cut-{end}": tokenizer()[:end] for end in (1, 20, len(tokenizer()) // 2, len(tokenizer()) - 1)},
    "garbage": GARBAGE,
    "zeroed": bytes(4000),
    "utf-16": tokenizer().decode().encode("utf-16"),
    "nul": tokenizer().replace(b"good", b"go\0d"),
    "page-not-found": PAGE,
    "a-list": b"[]",
    "a-number": b"5",
    "nothing": b"{}",
    "deep": b'{"model":' * 10**5,
    "deep-and-closed": b'{"model":' * 10**5 + b"1" + b"}" * 10**5,
    "many-values": b'{"model":[' + b"[]," * 5 * 10**6 + b"0]}",
    "version-of-tomorrow": tokenizer(version="9.0"),
    "unknown-model": tokenizer(model={"type": "Oracle"}),
    "no-model": tokenizer(model=None),
    "negative-token": tokenizer(model={"type": "WordLevel", "vocab": {"good": -1}, "unk_token": "[UNK]"}),
    "huge-token": tokenizer(model={"type": "WordLevel", "vocab": {"good": 2**63}, "unk_token": "[UNK]"}),
    "merges-of-nothing": tokenizer(model={"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}),
    "unigram-of-nothing": tokenizer(model={"type": "Unigram", "unk_id": 9, "vocab": []}),
    "bad-pattern": tokenizer(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed", "invert": False}
    ),
}


def malformed_files() -> Iterator[tuple[str, bytes]]:
    """Each file and its content."""
    made = {"seeds/{}.csv": CSV, "seeds/{}.parquet": tables(), "seeds/{}.wav": WAVES, "texts/{}.txt": TEXTS}
    for place, contents in {**made, "tokenizers/{}.json": TOKENIZERS}.items():
        yield from ((place.format(name), content) for name, content in contents.items())

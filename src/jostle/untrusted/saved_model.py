"""What must be true of a stranger's TensorFlow SavedModel before TensorFlow opens it.

Its graph is a program, and TensorFlow has operators that read, write and fetch files and that call Python. So every
node of the graph and of its functions must be one that is known to compute and nothing else. Every SavedModel has two
functions that write and read checkpoints, which tf.saved_model.load never calls; they may be there as long as nothing
names them. The file is read by the wire format of protobuf alone, because importing TensorFlow takes seconds.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jostle.untrusted.files import inside, read_bounded
from jostle.untrusted.tensorflow_operators import COMPUTING

SIZE_LIMIT = 2**31 - 1  # bytes, the limit of protobuf too
ENTRY_LIMIT = 10_000  # files and folders
GRAPH = "saved_model.pb"
OTHER_GRAPHS = ("saved_model.pbtxt", "saved_model.cpb")  # TensorFlow might read these in its place
CHECKPOINT = frozenset(("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename"))
OUTSIDE = re.compile(
    r".*(File|Reader|Dataset|Iterator|Save|Restore|Summary|Record|Checkpoint|PyFunc|Rpc|Remote|Socket|Lmdb|Sql).*"
    r"|.*(Send|Recv|Collective|Nccl|Debug|Dump|Print|Proto).*|ImmutableConst|Abort|LoadAndRemapMatrix",
)
# How functions are called that Python traced; operators begin with a capital letter.
TRACED = re.compile(r"[a-z].*|__(inference|forward|backward)_.*", re.DOTALL)
# Numbers of the fields that are read, by TensorFlow's .proto files.
MODEL_META = 2
META_GRAPH, META_ASSET, META_OBJECTS = 2, 6, 7
GRAPH_NODE, GRAPH_LIBRARY = 1, 2
LIBRARY_FUNCTION, LIBRARY_GRADIENT = 1, 2
FUNCTION_SIGNATURE, FUNCTION_NODE = 1, 3
SIGNATURE_NAME, NODE_OPERATOR, ASSET_NAME = 1, 2, 2
NESTED, VARINT, EIGHT, FOUR = 2, 0, 1, 5  # wire types


@dataclass(frozen=True)
class _Function:
    """A function of the graph."""

    name: str
    operators: frozenset[str]
    content: bytes

    @property
    def is_checkpoint(self) -> bool:
        return bool(self.operators & CHECKPOINT)


def check_saved_model(folder: Path, trusted: bool = False) -> None:
    """ValueError says why TensorFlow may not open the folder.

    Trust lets all operators pass, but no links.
    """
    _check_entries(folder)
    model = read_bounded(folder / GRAPH, SIZE_LIMIT)
    metas = [*_fields(model, MODEL_META)]
    if not metas:
        raise ValueError("it is not a SavedModel: it has no graph; export it again")
    for meta in metas:
        _check_assets(meta, folder)
    operators = frozenset(name for meta in metas for name in _operators(meta))
    suspicious = tuple(sorted(name for name in operators if name not in COMPUTING))
    if suspicious and not trusted:
        raise ValueError(f"it has the operator {_described(suspicious)}: add --trust-model if you trust its origin")


def _described(suspicious: tuple[str, ...]) -> str:
    worst = next((name for name in suspicious if OUTSIDE.fullmatch(name)), None)
    if worst is None:
        return f"{suspicious[0][:100]!r}, which is not known to compute and nothing else"
    return f"{worst[:100]!r}, which reaches files, the network or code"


def _check_entries(folder: Path) -> None:
    """Regular files in real folders, each under one name."""
    if not (folder / GRAPH).is_file():
        raise ValueError(f"it is not a SavedModel: it has no {GRAPH}; export it again")
    for number, entry in enumerate(folder.rglob("*")):
        name, status = entry.relative_to(folder).as_posix(), entry.lstat()
        if number > ENTRY_LIMIT:
            raise ValueError(f"it has more than {ENTRY_LIMIT} files")
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            raise ValueError(f"its {name[:100]!r} is a link, pipe or device")
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise ValueError(f"its {name[:100]!r} has other names too (hard links): put a copy there")
        if name in OTHER_GRAPHS:
            raise ValueError(f"it has {name} besides {GRAPH}, and one of them would not be looked at")


def _check_assets(meta: bytes, folder: Path) -> None:
    for asset in _fields(meta, META_ASSET):
        for name in _fields(asset, ASSET_NAME):
            if not inside(folder / "assets", _text(name)).is_file():
                raise ValueError(f"its asset {_text(name)[:100]!r} is missing")


def _operators(meta: bytes) -> set[str]:
    """Of all that may run, without calls of the functions in the file."""
    graphs = [*_fields(meta, META_GRAPH)]
    libraries = [library for graph in graphs for library in _fields(graph, GRAPH_LIBRARY)]
    functions = [_function(one) for library in libraries for one in _fields(library, LIBRARY_FUNCTION)]
    gradients = [one for library in libraries for one in _fields(library, LIBRARY_GRADIENT)]
    objects = [*_fields(meta, META_OBJECTS)]
    named = b"\0".join([*(one.content for one in functions if not one.is_checkpoint), *gradients, *objects])
    found = {_text(name) for graph in graphs for node in _fields(graph, GRAPH_NODE) for name in _operator(node)}
    for one in functions:
        # Without a description of its objects, TensorFlow runs the graph itself, as of old.
        spared = one.is_checkpoint and objects and one.name.encode() not in named
        found |= one.operators - CHECKPOINT if spared else one.operators
    return found - {one.name for one in functions if TRACED.fullmatch(one.name)}


def _function(content: bytes) -> _Function:
    names = [_text(name) for one in _fields(content, FUNCTION_SIGNATURE) for name in _fields(one, SIGNATURE_NAME)]
    if len(names) != 1 or not names[0]:
        raise ValueError("it has a function without one name")
    operators = (_text(name) for node in _fields(content, FUNCTION_NODE) for name in _operator(node))
    return _Function(names[0], frozenset(operators), content)


def _operator(node: bytes) -> list[bytes]:
    return [*_fields(node, NODE_OPERATOR)]


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it has names that are not UTF-8") from error


def _fields(message: bytes, number: int) -> Iterator[bytes]:
    """The values of a field that are messages or texts, wherever in the message they are."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == NESTED:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("it is damaged: a part of it lies outside of the file; export it again")
            if key >> 3 == number:
                yield message[at : at + length]
            at += length
        elif kind == VARINT:
            at = _varint(message, at)[1]
        elif kind in (EIGHT, FOUR):
            at += 8 if kind == EIGHT else 4
        else:
            raise ValueError("it is not a SavedModel, or is damaged; export it again")
    if at > len(message):
        raise ValueError("it is damaged: a part of it lies outside of the file; export it again")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, seven to a byte, and where it ends."""
    value = 0
    for number, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << 7 * number
        if byte < 128:
            return value, at + number + 1
    raise ValueError("it is not a SavedModel, or is damaged; export it again")

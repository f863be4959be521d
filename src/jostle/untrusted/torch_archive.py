"""LabelReading what torch.save wrote for a stranger: tensors and plain values, nothing else.

torch.load(weights_only=True) is meant for such files, but unpacks zip bombs, allocates what a pickle asks for, and
had ways around it before. So torch gets a new archive, whose pickle was seen to hold only what a state dict needs.
"""

from __future__ import annotations

import io
import pickletools
import re
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch

from jostle.untrusted.files import stored_members

PICKLE_LIMIT = 16 * 2**20  # bytes
OPERATION_LIMIT = 400_000  # some 10,000 tensors; torch does them in Python, one by one
DEPTH_LIMIT = 100
KEY_LIMIT = 2**60  # below which no two numbers have the same hash
COPIED = re.compile(r"data\.pkl|data/\d+|byteorder|version|\.data/version")
LEFT_OUT = re.compile(r"\.data/serialization_id|\.format_version|\.storage_alignment")
NAMES = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
    r"|torch (\w+Storage|Size|device|b?float\d+|u?int\d+|bool)"
)
ORDERED = "collections OrderedDict"
CALLED = re.compile(rf"{ORDERED}|torch\._utils _rebuild_\w+|torch (Size|device)")  # a storage would allocate
TAKES: dict[str, int | None] = {  # values from the stack, None for all above the mark
    **dict.fromkeys(("TUPLE1", "APPEND", "BUILD", "REDUCE", "BINPERSID"), 1),
    "TUPLE2": 2,
    "TUPLE3": 3,
    "SETITEM": 2,
    **dict.fromkeys(("TUPLE", "APPENDS", "SETITEMS")),
}
PLAIN = {
    *{"PROTO", "STOP", "MARK", "GLOBAL", "REDUCE", "BUILD", "BINPERSID", "NONE", "NEWTRUE", "NEWFALSE"},
    *{"EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "APPEND", "APPENDS"},
    *{"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"},
    *{"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING"},
}


def load_plain(source: Path | io.BytesIO, size: int) -> object:
    """What the archive of this many bytes holds; an error of any kind where that is more than plain values."""
    copy = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(copy, "w") as new:
        for name, info in _members(old, size).items():
            content = old.read(info)
            if name == "data.pkl":
                _check_pickle(content)
            new.writestr(f"archive/{name}", content)
    copy.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch thinks of the pickle
        return torch.load(copy, map_location="cpu", weights_only=True)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    members = stored_members(archive, size)
    for name in members:
        if not (COPIED.fullmatch(name) or LEFT_OUT.fullmatch(name)):
            raise ValueError(f"its member {name[:100]!r} is not part of saved weights")
    if "data.pkl" not in members:
        raise ValueError("it has no data.pkl")
    if members["data.pkl"].file_size > PICKLE_LIMIT:
        raise ValueError(f"its data.pkl is larger than {PICKLE_LIMIT} bytes")
    return {name: info for name, info in members.items() if COPIED.fullmatch(name)}


def _check_pickle(content: bytes) -> None:
    """Looks at the operations without doing them."""
    sketch = _Sketch()
    for number, (operation, argument, _) in enumerate(pickletools.genops(content)):
        if number > OPERATION_LIMIT:
            raise ValueError(f"its pickle is of more than {OPERATION_LIMIT} operations")
        if operation.name not in PLAIN:
            raise ValueError(f"its pickle does {operation.name}, which plain weights never need")
        if operation.name == "GLOBAL" and not NAMES.fullmatch(str(argument)):
            raise ValueError(f"its pickle names {str(argument)[:100]!r}, which is no tensor or plain value")
        try:
            sketch.follow(operation.name, argument)
        except LookupError as error:
            raise ValueError(f"its pickle does {operation.name} with values that it never made") from error


@dataclass(slots=True)
class _Value:
    """What is known of a value that was not made."""

    made: str  # the operation that would make it, or the name that it stands for
    size: int = 1  # values in it, a shared one as often as it is met
    depth: int = 0
    fits_key: bool = False
    shared: bool = False

    def take(self, parts: list[_Value]) -> None:
        if self.shared:  # sizes of what it is part of would be wrong, and what holds itself has none
            raise ValueError("its pickle changes a value after using it, which plain weights never need")
        self.size += sum(part.size for part in parts)
        self.depth = max([self.depth, *(part.depth + 1 for part in parts)])
        if self.depth > DEPTH_LIMIT:
            raise ValueError(f"its pickle nests values more than {DEPTH_LIMIT} deep")


class _Sketch:
    """The sizes of the values that torch's unpickler would have on its stack.

    A few hundred bytes that use each pair in the next one twice make a value that takes years to walk through or to
    hash, and keys of chosen hashes make a slow dict. So values used again count in full, and keys are text or numbers.
    """

    def __init__(self) -> None:
        self._stack: list[_Value] = []
        self._below: list[list[_Value]] = []  # stacks below each mark
        self._memo: dict[int, _Value] = {}
        self._again = 0  # sizes of all values used again

    def follow(self, operation: str, argument: object) -> None:
        match operation, argument:
            case "MARK", _:
                self._below.append(self._stack)
                self._stack = []
            case "BINPUT" | "LONG_BINPUT", int(slot):
                self._memo[slot] = self._stack[-1]
            case "BINGET" | "LONG_BINGET", int(slot):
                self._use_again(self._memo[slot])
            case "PROTO" | "STOP", _:
                pass
            case "GLOBAL", str(name):
                self._stack.append(_Value(name))
            case _ if operation in TAKES:
                self._combine(operation, self._taken(TAKES[operation]))
            case _:
                self._stack.append(_Value(operation, fits_key=_fits_key(argument)))

    def _use_again(self, value: _Value) -> None:
        self._again += value.size
        if self._again > OPERATION_LIMIT:
            raise ValueError(f"its pickle uses values again that hold more than {OPERATION_LIMIT} values")
        value.shared = True
        self._stack.append(value)

    def _taken(self, count: int | None) -> list[_Value]:
        """So many values from the top, or all above the mark."""
        if count is None:
            values, self._stack = self._stack, self._below.pop()
            return values
        return [self._stack.pop() for _ in range(count)][::-1]

    def _combine(self, operation: str, parts: list[_Value]) -> None:
        match operation:
            case "REDUCE":
                self._stack.append(_called(self._stack.pop().made, parts))
            case "APPEND" | "APPENDS" | "SETITEM" | "SETITEMS" | "BUILD":
                if operation.startswith("SETITEM") and not all(key.fits_key for key in parts[::2]):
                    raise ValueError("its pickle has keys that are neither text nor numbers of up to 60 bits")
                if operation == "BUILD" and parts[0].made != "EMPTY_DICT":
                    raise ValueError("its pickle sets attributes by something else than a dict")
                self._stack[-1].take(parts)
            case _:
                self._stack.append(_made(operation, parts))


def _made(operation: str, parts: list[_Value]) -> _Value:
    value = _Value(operation)
    value.take(parts)
    return value


def _called(name: str, arguments: list[_Value]) -> _Value:
    """An ordered dict is made empty and then filled: filled by the call, its keys would not be seen."""
    if not CALLED.fullmatch(name) or (name == ORDERED and arguments[0].made != "EMPTY_TUPLE"):
        raise ValueError(f"its pickle calls {name[:100]!r} in a way that plain weights never need")
    return _made("REDUCE", arguments)


def _fits_key(argument: object) -> bool:
    return isinstance(argument, str) or (isinstance(argument, int) and abs(argument) < KEY_LIMIT)

"""Reading what torch.save wrote for a stranger: tensors and plain values, nothing else.

torch.load(weights_only=True) is meant for such files, but unpacks zip bombs, allocates what a pickle asks for, and
had ways around it before. So torch gets a new archive, whose pickle was seen to hold only what a state dict needs.
"""

from __future__ import annotations

import io
import pickletools
import re
import warnings
import zipfile
from pathlib import Path

import torch

from jostle.foreign_files import check_unpacked

PICKLE_LIMIT = 16 * 2**20  # bytes
OPERATION_LIMIT = 1_000_000  # some 25,000 tensors; torch does them in Python, one by one
COPIED = re.compile(r"data\.pkl|data/\d+|byteorder|version|\.data/version")
LEFT_OUT = re.compile(r"\.data/serialization_id|\.format_version|\.storage_alignment")
NAMES = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
    r"|torch (\w+Storage|Size|device|b?float\d+|u?int\d+|bool)"
)
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
    infos = archive.infolist()
    check_unpacked(infos, size)
    root = infos[0].filename.partition("/")[0] + "/" if infos else ""
    members = {info.filename.removeprefix(root): info for info in infos if info.filename.startswith(root)}
    if len(members) != len(infos):
        raise ValueError("its members share a name or have different roots")
    for name, info in members.items():
        if not (COPIED.fullmatch(name) or LEFT_OUT.fullmatch(name)):
            raise ValueError(f"its member {name[:100]!r} is not part of saved weights")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its member {name[:100]!r} is compressed, which torch.save never does")
    if "data.pkl" not in members:
        raise ValueError("it has no data.pkl")
    if members["data.pkl"].file_size > PICKLE_LIMIT:
        raise ValueError(f"its data.pkl is larger than {PICKLE_LIMIT} bytes")
    return {name: info for name, info in members.items() if COPIED.fullmatch(name)}


def _check_pickle(content: bytes) -> None:
    """Looks at the operations without doing them."""
    for number, (operation, argument, _) in enumerate(pickletools.genops(content)):
        if number > OPERATION_LIMIT:
            raise ValueError(f"its pickle is of more than {OPERATION_LIMIT} operations")
        if operation.name not in PLAIN:
            raise ValueError(f"its pickle does {operation.name}, which plain weights never need")
        if operation.name == "GLOBAL" and not NAMES.fullmatch(str(argument)):
            raise ValueError(f"its pickle names {str(argument)[:100]!r}, which is no tensor or plain value")

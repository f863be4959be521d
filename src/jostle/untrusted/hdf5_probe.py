"""Looks into a stranger's HDF5 file, as a process of its own: run by `hdf5_file`, never imported by others.

It prints JSON: the texts of attributes, or the reason why nothing may read the file. It imports nothing of Jostle.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py

OBJECT_LIMIT = 100_000
TEXT_LIMIT = 64 * 2**20  # bytes of an attribute
MEMORY = 2 * 2**30  # bytes of address space besides those for the file
SPARE = 64 * 2**20  # bytes that numbers may take besides those of the file, as some are packed
PACKED = 4  # times that they may be larger than the file
FILTERS = (1, 2, 3)  # deflate, shuffle and checksums, which HDF5 has built in; any other is looked for as a library
PLAIN = "biufcVS"  # kinds of numpy: numbers, raw bytes and text of fixed length
# What h5py and zipfile raise for a damaged file.
DAMAGED = (
    *(OSError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, SystemError),
    *(NotImplementedError, UnicodeError, EOFError, zipfile.BadZipFile, zlib.error),
)


def main(path: str, member: str, *attributes: str) -> None:
    """Prints what the file holds; `member` names the part of a zip that is the file, empty if it is one by itself."""
    limit_memory(Path(path).stat().st_size)
    json.dump(answer(path, member, attributes), sys.stdout)


def limit_memory(size: int) -> None:
    """A damaged length of four bytes would take all that a machine has."""
    import resource

    limit = MEMORY + 8 * size
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer(path: str, member: str, attributes: tuple[str, ...]) -> dict[str, Any]:
    """The texts of attributes, None for those that are not there, or the reason why nothing may read the file."""
    try:
        return {"texts": _texts(_source(path, member), attributes)}
    except UnicodeError:
        return {"reason": "it has names that are not UTF-8"}
    except ValueError as error:
        return {"reason": str(error).partition("\n")[0]}
    except DAMAGED:
        return {"reason": "it is not an HDF5 file, or is damaged; save it again"}


def _source(path: str, member: str) -> IO[bytes]:
    if not member:
        return Path(path).open("rb")
    with zipfile.ZipFile(path) as archive:
        return io.BytesIO(archive.read(member))


def _texts(source: IO[bytes], attributes: tuple[str, ...]) -> dict[str, str | None]:
    import h5py

    size = source.seek(0, io.SEEK_END)
    with h5py.File(source, "r") as file:
        _check_datasets(file, size * PACKED + SPARE)
        return {name: _text(file, name) for name in attributes}


def _text(file: h5py.File, name: str) -> str | None:
    """An attribute of the whole file."""
    if name not in file.attrs:
        return None
    if file.attrs.get_id(name).shape != ():
        raise ValueError(f"its {name} is no text")
    value = file.attrs[name]
    text = value.decode() if isinstance(value, bytes) else value
    if not isinstance(text, str) or len(text) > TEXT_LIMIT:
        raise ValueError(f"its {name} is no text of up to {TEXT_LIMIT} bytes")
    return text


def _check_datasets(file: h5py.File, limit: int) -> None:
    import h5py

    seen: set[int] = set()
    waiting, size = [file["/"]], 0
    while waiting:
        group = waiting.pop()
        for name in group:
            one = _inside(group, name)
            address = h5py.h5o.get_info(one.id).addr
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > OBJECT_LIMIT:
                raise ValueError(f"it has more than {OBJECT_LIMIT} groups and datasets")
            if isinstance(one, h5py.Group):
                waiting.append(one)
            else:
                size += _checked_bytes(one, name)
    if size > limit:
        raise ValueError(f"its datasets claim {size} bytes, more than {limit}")


def _inside(group: h5py.Group, name: str) -> Any:
    """What a name in a group stands for, if that is in this file."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"its {name[:100]!r} is a link, perhaps to another file")
    one = group[name]
    if not isinstance(one, h5py.Group | h5py.Dataset):
        raise ValueError(f"its {name[:100]!r} is neither a group nor a dataset")
    return one


def _checked_bytes(dataset: h5py.Dataset, name: str) -> int:
    """How many the dataset takes in memory."""
    plan = dataset.id.get_create_plist()
    if dataset.is_virtual or plan.get_external_count():
        raise ValueError(f"its dataset {name[:100]!r} lies in another file")
    if dataset.dtype.kind not in PLAIN or dataset.dtype.hasobject:
        raise ValueError(f"its dataset {name[:100]!r} does not hold numbers")
    if any(plan.get_filter(number)[0] not in FILTERS for number in range(plan.get_nfilters())):
        raise ValueError(f"its dataset {name[:100]!r} is packed by an unknown filter")
    return int(dataset.nbytes)


if __name__ == "__main__":
    main(*sys.argv[1:])

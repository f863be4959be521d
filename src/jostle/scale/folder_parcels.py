"""What a worker needs of a campaign's folder, as messages of bounded size, for a folder of the worker's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from jostle.scale.parcel import Parcel
from jostle.storage.files import make_folder, write_whole
from jostle.storage.journal import JOURNAL
from jostle.storage.own_folders import GRAPHS, TWINS
from jostle.storage.repair import CORPUS
from jostle.untrusted.files import read_plain

SENT = (CORPUS, TWINS, GRAPHS)  # folders
AT_ONCE = 2**25  # bytes


def folder_parcels(folder: Path, *files: str) -> Iterator[Parcel]:
    """The journal, the corpus, models that were made, and these files, where they are there."""
    names = [name for name in (JOURNAL, *files) if (folder / name).is_file()]
    inside = [path.relative_to(folder).as_posix() for name in SENT for path in _plain_files(folder / name)]
    read: dict[str, Tensor] = {}
    size = 0
    for name in (*names, *inside):
        read[name] = file_array(read_plain(folder / name))
        size += len(read[name])
        if size >= AT_ONCE:
            yield Parcel(arrays=read)
            read, size = {}, 0
    if read:
        yield Parcel(arrays=read)


def file_array(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)


def put_files(files: Mapping[str, Tensor], folder: Path, places: Sequence[str] = ("", *SENT)) -> None:
    """Writes what was sent into these places of a folder; a name that leads elsewhere raises ValueError."""
    for name, content in files.items():
        place, _, own = name.rpartition("/")
        if place not in places or own in ("", ".", ".."):
            raise ValueError(f"{name} is no file of a campaign")
        make_folder(folder / place)
        write_whole(folder / name, content.numpy().tobytes())


def _plain_files(folder: Path) -> list[Path]:
    plain = (path for path in folder.iterdir() if path.is_file() and not path.is_symlink()) if folder.is_dir() else ()
    return sorted(plain)

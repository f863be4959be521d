"""Twins that are files: made in a folder of their own, kept in the campaign's, so that findings can be run again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jostle.isolation.orphans import clean_up, new_folder
from jostle.storage.files import make_folder, write_whole
from jostle.storage.own_folders import TWINS
from jostle.untrusted.files import read_plain


@contextmanager
def twins_folder(campaign: Path | None) -> Iterator[Path]:
    """A folder to make twins in, with those that the campaign has made before; it is gone in the end."""
    clean_up()
    folder = new_folder()
    try:
        if campaign is not None:
            for path in _files(campaign / TWINS):
                write_whole(folder / path.name, read_plain(path))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep_twins(folder: Path, campaign: Path) -> None:
    """Copies twins into the campaign's folder, but for those that are there.

    A twin may be several files. They are written again if one is missing, because a killed run may have
    kept weights of which another run wrote the rest.
    """
    kept = {path.name for path in _files(campaign / TWINS)}
    incomplete = {_twin(path) for path in _files(folder) if path.name not in kept}
    for path in _files(folder):
        if _twin(path) in incomplete:
            make_folder(campaign / TWINS)
            write_whole(campaign / TWINS / path.name, read_plain(path), synced=True)


def _twin(path: Path) -> str:
    """Whose file it is: `onnx.onnx` and `onnx.onnx.data` are of one twin."""
    return path.name.partition(".")[0]


def _files(folder: Path) -> list[Path]:
    """What lies in a folder, but for links, which may lead anywhere."""
    if not folder.is_dir() or folder.is_symlink():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.is_symlink())

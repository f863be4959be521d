"""Arrays in `.npy` and `.npz` files, without Python objects, and never larger than they say."""

from __future__ import annotations

import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.untrusted.array_files import read_array
from jostle.untrusted.files import LARGEST_MODEL, check_unpacked, name_of_opened, opened_bounded

MADE_BY_CMIN = "made_by_jostle_cmin"  # an array by which a file of `jostle cmin` is told for ours
MADE_BY_EXPORT = "made_by_jostle_export_tests"  # the same of `jostle export-tests`
UNPACKED = 256 * 2**20  # bytes that an .npz may unpack to, however small it is
RATIO = 100  # and how much larger than itself beyond that


def arrays_in(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays in a file by name; that of an .npy file is x, and read as it is used."""
    arrays = attempt(partial(_arrays, path))
    if isinstance(arrays, Crash):
        raise SeedsRefused(
            f"{path} is not a readable array without Python objects: save numbers with np.save or np.savez "
            f"({arrays.message or arrays.error})"
        )
    return arrays


def has_mark(path: Path, mark: str) -> bool:
    """Whether the file is one of ours that holds an array of this name."""
    if not path.is_file():
        return False
    try:
        with opened_bounded(path, LARGEST_MODEL) as file, zipfile.ZipFile(file) as archive:
            return f"{mark}.npy" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def _arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    with opened_bounded(path, LARGEST_MODEL) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what numpy thinks of the header
        if path.suffix == ".npy":
            return {
                "x": np.lib.format.open_memmap(name_of_opened(file, path), mode="r")
            }  # which is as large as it says, or fails
        with zipfile.ZipFile(file) as archive:
            check_unpacked(archive.infolist(), max(UNPACKED, RATIO * file.seek(0, 2)))
            return {info.filename.removesuffix(".npy"): _member(archive, info) for info in archive.infolist()}


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as member:
        return read_array(member, info.file_size, info.filename)

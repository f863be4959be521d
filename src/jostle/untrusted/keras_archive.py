"""What must be true of a stranger's Keras model before Keras opens it.

A `.keras` is a zip of a configuration and of weights in HDF5; a `.h5` of old has the configuration inside. Nothing of
them is made or imported here. How the model was compiled is not looked at: whoever loads it gives `compile=False`.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from jostle.untrusted.files import check_regular, check_unpacked
from jostle.untrusted.hdf5_file import hdf5_texts
from jostle.untrusted.json_text import OF_MODELS, parsed_json
from jostle.untrusted.keras_config import check_trusted, custom_objects

SIZE_LIMIT = 16 * 2**30  # bytes
CONFIG_LIMIT = 64 * 2**20
PACKED, SPARE = 4, 64 * 2**20  # times and bytes that members may be larger than the archive; Keras packs none
CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, NotImplementedError, KeyError)


def check_keras(path: Path, trusted: bool = False) -> None:
    """ValueError says why Keras may not open a `.keras` or `.h5` file.

    Trust lets custom objects and code pass, but neither links nor claims that no honest file makes.
    """
    check_regular(path)
    if path.stat().st_size > SIZE_LIMIT:
        raise ValueError(f"it is larger than {SIZE_LIMIT} bytes")
    custom = _custom_in_archive(path, trusted) if path.suffix.lower() == ".keras" else _custom_in_hdf5(path)
    if not trusted:
        check_trusted(custom)


def _custom_in_archive(path: Path, trusted: bool) -> tuple[str, ...]:
    """Classes that are code or not Keras' own."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(archive, path.stat().st_size, trusted)
            config, _ = _json(archive, CONFIG), _json(archive, METADATA)  # Keras reads both
    except DAMAGED as error:
        raise ValueError("it is not a Keras archive, or is damaged; export it again") from error
    _check_model(config)
    found = custom_objects({**config, "compile_config": None}, slashes=False)
    hdf5_texts(path, member=WEIGHTS)
    return found


def _check_members(archive: zipfile.ZipFile, size: int, trusted: bool) -> None:
    infos = archive.infolist()
    check_unpacked(infos, size * PACKED + SPARE)
    names = [info.filename for info in infos]
    if len(set(names)) != len(names):
        raise ValueError("two of its members have one name")
    for info in infos:
        if stat.S_ISLNK(info.external_attr >> 16):
            raise ValueError(f"its member {info.filename[:100]!r} is a link")
        if info.filename not in (CONFIG, METADATA, WEIGHTS):
            _check_asset(info.filename, trusted)
    if missing := {CONFIG, METADATA, WEIGHTS} - {*names}:
        raise ValueError(f"it is not a Keras archive with weights in HDF5: it has no {min(missing)}; export it again")


def _check_asset(name: str, trusted: bool) -> None:
    """Files that layers read besides their weights, and that Keras unpacks."""
    if not name.startswith("assets/") or ".." in name.split("/") or "\\" in name:
        raise ValueError(f"its member {name[:100]!r} is not part of a Keras model")
    if not trusted:
        raise ValueError(f"its layers read the file {name[:100]!r} in it: add --trust-model if you trust its origin")


def _json(archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > CONFIG_LIMIT:
        raise ValueError(f"its {name} is larger than {CONFIG_LIMIT} bytes")
    return parsed_json(archive.read(name), OF_MODELS)


def _custom_in_hdf5(path: Path) -> tuple[str, ...]:
    """Classes that are code or not Keras' own."""
    if (text := hdf5_texts(path, ("model_config", "keras_version"))["model_config"]) is None:
        raise ValueError("it holds weights without a model: save it with model.save, not model.save_weights")
    config = parsed_json(text, OF_MODELS)
    _check_model(config)
    return custom_objects(config, slashes=True)


def _check_model(config: Any) -> None:
    match config:
        case {"class_name": str(), "config": dict() | list()}:
            pass
        case _:
            raise ValueError("its configuration is not that of a Keras model")

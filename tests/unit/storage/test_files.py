"""Files are whole or not there, and a failed write says so in one line."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import BinaryIO

import pytest

from jostle.errors import WriteFailed
from jostle.storage import files
from jostle.storage.files import Appended, write_json, write_whole


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    put = files.put

    def failing(file: BinaryIO, content: bytes) -> None:
        put(file, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "put", failing)


@pytest.mark.usefixtures("full")
def test_a_write_that_fails_leaves_the_old_content_and_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(WriteFailed, match=r"cannot write .*a\.json: No space left .* the same command goes on"):
        write_json(path, {"new": 1})
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"] and path.read_bytes() == b"old"


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    journal = Appended(tmp_path / "journal")
    journal.append(b"one\n")
    request.getfixturevalue("full")
    with pytest.raises(WriteFailed):
        journal.append(b"two and more\n")
    assert (tmp_path / "journal").read_bytes() == b"one\n"


@pytest.mark.parametrize("synced", [False, True])
def test_a_write_tells_how_many_bytes_it_wrote(synced: bool, tmp_path: Path) -> None:
    assert write_whole(tmp_path / "a", b"12345", synced) == 5
    assert (tmp_path / "a").read_bytes() == b"12345"


def test_a_folder_that_is_not_there_is_told_as_a_failed_write(tmp_path: Path) -> None:
    with pytest.raises(WriteFailed, match="cannot write"):
        write_whole(tmp_path / "gone" / "a", b"1")

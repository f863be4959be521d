"""Files are whole or not there, and a failed write says so in one line."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from jostle.errors import OutputRefused, WriteFailed
from jostle.storage import files
from jostle.storage.files import Appended, make_folder, temporary, usable, write_json, write_plain, write_whole


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


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_folder_on_a_disk_that_fails_is_a_failed_write(number: int, tmp_path: Path) -> None:
    with pytest.raises(WriteFailed, match=os.strerror(number)) as told, usable(tmp_path):
        raise OSError(number, os.strerror(number))
    assert ("make room" in str(told.value)) == (number != errno.EIO)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOTDIR, errno.EROFS, errno.EISDIR])
def test_a_folder_that_cannot_be_used_otherwise_is_refused(number: int, tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match=r"cannot use .* give another --out"), usable(tmp_path):
        raise OSError(number, os.strerror(number))


def test_what_is_in_the_way_is_named_and_no_room_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_bytes(b"")
    for write in (lambda: write_whole(tmp_path / "a", b"1"), lambda: make_folder(tmp_path / "b")):
        with pytest.raises(WriteFailed, match="is in the way there, move it") as told:
            write()
        assert "make room" not in str(told.value)


@pytest.mark.parametrize("synced", [False, True])
@pytest.mark.parametrize("left", ["link", "dangling link", "hard link", "pipe", "half a file"])
@pytest.mark.parametrize("name", ["report.html", "defects.json", "issue.md", "input.npy"])
def test_what_stands_where_a_file_is_written_first_is_replaced_and_not_written_through(
    name: str, left: str, synced: bool, tmp_path: Path
) -> None:
    precious, beside = tmp_path / "precious", temporary(tmp_path / name)
    precious.write_bytes(b"precious")
    if left == "link":
        beside.symlink_to(precious)
    elif left == "dangling link":
        beside.symlink_to(tmp_path / "startup")
    elif left == "hard link":
        beside.hardlink_to(precious)
    elif left == "pipe":
        os.mkfifo(beside)
    else:
        beside.write_bytes(b"hal")
    assert write_whole(tmp_path / name, b"new", synced) == 3
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"precious": b"precious", name: b"new"}
    assert not (tmp_path / name).is_symlink()


def test_a_written_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "any").touch()
    write_whole(tmp_path / "whole", b"")
    write_plain(tmp_path / "plain", b"")
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_a_file_that_may_be_left_half_written_is_not_written_through_a_link_either(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "input.npy").symlink_to(tmp_path / "precious")
    with pytest.raises(WriteFailed, match="cannot write"):
        write_plain(tmp_path / "input.npy", b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"

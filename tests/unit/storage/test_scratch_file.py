"""Room on disk that nobody finds, and that goes with its process."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

import pytest
import torch

from jostle.errors import ProcessSpoilt, WriteFailed
from jostle.storage import files
from jostle.storage.archive import open_archive
from jostle.storage.scratch_file import ScratchFile
from jostle.storage.stored_rows import StoredRows

CONTENT = memoryview(b"some bytes")


def read_back(scratch: ScratchFile, start: int, size: int) -> bytes:
    room = memoryview(bytearray(size))
    scratch.read([(start, room)])
    return bytes(room)


def test_what_was_appended_is_read_from_any_position(tmp_path: Path) -> None:
    scratch = ScratchFile(tmp_path)
    scratch.append(CONTENT)
    scratch.append(memoryview(b", and more"))
    assert scratch.size == 20 and read_back(scratch, 5, 9) == b"bytes, an"


def test_nobody_finds_the_file_and_so_no_kill_leaves_it_behind(tmp_path: Path) -> None:
    scratch = ScratchFile(tmp_path)
    scratch.append(CONTENT)
    assert not list(tmp_path.iterdir()) and os.fstat(scratch._file.fileno()).st_nlink == 0


def test_one_that_had_its_name_for_a_moment_is_removed_when_the_campaign_goes_on(tmp_path: Path) -> None:
    with open_archive(tmp_path, {}):
        pass
    (tmp_path / ".corpus-8xk_3a.scratch.tmp").touch()
    with open_archive(tmp_path, {}):
        assert not list(tmp_path.glob(".*"))


def test_a_full_disk_is_one_line_and_what_was_appended_before_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(file: BinaryIO, content: memoryview) -> None:
        file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    scratch = ScratchFile(tmp_path)
    scratch.append(CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(files, "put", half)
        with pytest.raises(WriteFailed, match=f"cannot write {tmp_path}: No space left on device; .*goes on$"):
            scratch.append(CONTENT)
    scratch.append(memoryview(b"!"))
    assert scratch.size == 11 and read_back(scratch, 0, 11) == b"some bytes!"


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    stored = StoredRows(torch.empty(0, 2), 1, tmp_path / "gone")
    stored.add(torch.zeros(1, 2))
    with pytest.raises(WriteFailed, match="removed meanwhile"):
        stored.add(torch.zeros(1, 2))


def closed(scratch: ScratchFile, folder: Path) -> None:
    os.close(scratch._file.fileno())


def another_behind_its_number(scratch: ScratchFile, folder: Path) -> None:
    (folder / "journal").write_bytes(b"of great value" * 10)
    other = os.open(folder / "journal", os.O_RDWR)
    os.dup2(other, scratch._file.fileno())
    os.close(other)


def cut(scratch: ScratchFile, folder: Path) -> None:
    os.ftruncate(scratch._file.fileno(), 3)


@pytest.mark.parametrize("spoil", [closed, another_behind_its_number, cut])
def test_what_a_model_does_to_the_file_is_noticed_before_it_is_read_or_written(spoil, tmp_path: Path) -> None:
    scratch = ScratchFile(tmp_path)
    scratch.append(CONTENT)
    spoil(scratch, tmp_path)
    for use in (lambda: scratch.append(CONTENT), lambda: read_back(scratch, 0, 10)):
        with pytest.raises(ProcessSpoilt, match="closed or cut while the model ran: what was found is safe"):
            use()
    assert all(path.read_bytes() == b"of great value" * 10 for path in tmp_path.iterdir())

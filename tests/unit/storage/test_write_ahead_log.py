"""What was found is safe before the next step, although its folders are synced only in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.storage.write_ahead_log import LOG, LogContent, WriteAheadLog, read_log

ONE, TWO = b"123", b"\x00" * 1000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    safeguard = WriteAheadLog(tmp_path)
    safeguard.add(ONE)
    safeguard.add(TWO)
    return tmp_path / LOG


def test_all_that_was_added_comes_back(log: Path) -> None:
    assert read_log(log.parent) == LogContent((ONE, TWO), damaged=False)


def test_a_last_block_that_is_cut_off_is_left_out_and_no_damage(log: Path) -> None:
    whole = log.read_bytes()
    for content in (whole[:-1], whole[: len(whole) - 500], whole[:-3] + b"xyz", whole[: -len(TWO) - 16] + bytes(500)):
        log.write_bytes(content)
        assert read_log(log.parent) == LogContent((ONE,), damaged=False)
    log.write_bytes(b"short")
    assert read_log(log.parent) == LogContent((), damaged=False)


def test_a_cleared_log_holds_nothing(log: Path) -> None:
    WriteAheadLog(log.parent).clear()
    assert not read_log(log.parent).blocks and log.stat().st_size == 0


def test_damage_before_the_last_block_is_told_and_costs_no_more_than_must_be(log: Path) -> None:
    whole = log.read_bytes()
    for place, left in ((17, (TWO,)), (0, ()), (9, ()), (len(whole) - len(TWO) - 10, (ONE,))):
        content = bytearray(whole)
        content[place] ^= 64
        log.write_bytes(content)
        assert read_log(log.parent) == LogContent(left, damaged=True), place

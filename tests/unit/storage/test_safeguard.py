"""What was found is safe before the next step, although its folders are synced only in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.storage.safeguard import LOG, Safeguard, guarded

ONE, TWO = b"123", b"\x00" * 1000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    safeguard = Safeguard(tmp_path)
    safeguard.add(ONE)
    safeguard.add(TWO)
    return tmp_path / LOG


def test_all_that_was_added_comes_back(log: Path) -> None:
    assert list(guarded(log.parent)) == [ONE, TWO]


def test_a_block_that_is_cut_off_or_damaged_ends_the_log(log: Path) -> None:
    whole = log.read_bytes()
    for content in (whole[:-1], whole[: len(whole) - 500], whole[:-3] + b"xyz"):
        log.write_bytes(content)
        assert list(guarded(log.parent)) == [ONE]
    log.write_bytes(b"short")
    assert not list(guarded(log.parent))


def test_a_cleared_log_holds_nothing(log: Path) -> None:
    Safeguard(log.parent).clear()
    assert not list(guarded(log.parent)) and log.stat().st_size == 0

"""A journal is believed up to the first line that is not as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.storage.checksums import with_checksum, without_checksum
from jostle.storage.journal import JournalLine, decode_line, encode_line, read_journal


def line(step: int) -> JournalLine:
    return JournalLine(step, 8, 8 * step, 3, "ab", ("nan:x",), ("noise",), (), {"nan": 1}, {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(encode_line(line(step)) for step in range(3)))
    return journal


def test_what_was_written_is_read(path: Path) -> None:
    journal = read_journal(path)
    assert journal.lines == (line(0), line(1), line(2))
    assert journal.sound == journal.whole == journal.size and not journal.damaged


@given(
    st.builds(
        JournalLine,
        *[st.integers(1 - 2**63, 2**63 - 1)] * 4,
        st.text(max_size=9),
        *[st.lists(st.text(max_size=9), max_size=3).map(tuple)] * 3,
        *[st.dictionaries(st.text(max_size=9), st.integers(1 - 2**63, 2**63 - 1), max_size=3)] * 2,
    )
)
def test_a_line_is_read_as_it_was_written(line: JournalLine) -> None:
    assert decode_line(encode_line(line)) == line


@pytest.mark.parametrize("name", [name for name in json.loads(encode_line(line(0))) if name != "crc"])
@pytest.mark.parametrize("value", [None, 0.5, {"x": None}, [None]])
def test_a_line_with_a_field_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    content = without_checksum(json.loads(encode_line(line(0))))
    with pytest.raises(ValueError, match=name if value != {"x": None} else "x is|is no"):
        decode_line(json.dumps(with_checksum({**content, name: value})).encode())


def test_every_flipped_bit_is_noticed_or_changes_nothing(path: Path) -> None:
    whole = path.read_bytes()
    expected = read_journal(path).lines
    for place in range(len(whole)):
        for bit in range(0, 8, 3):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            assert read_journal(path).lines == expected[: len(read_journal(path).lines)]


@pytest.mark.parametrize("order", [(0, 2), (0, 1, 1), (1, 2), (0, 0)])
def test_lines_that_are_missing_or_doubled_are_noticed(order: tuple[int, ...], path: Path) -> None:
    path.write_bytes(b"".join(encode_line(line(step)) for step in order))
    journal = read_journal(path)
    assert journal.damaged and [line.step for line in journal.lines] == list(range(len(journal.lines)))


def test_a_line_that_is_cut_off_is_unfinished_and_not_damage(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    journal = read_journal(path)
    assert len(journal.lines) == 2 and not journal.damaged and journal.sound < journal.size


def test_a_journal_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "none").lines == ()


@pytest.mark.parametrize("record", [{}, {"a": 1.5, "b": [None, "é"]}, {"crcs": "x"}])
def test_a_checksum_survives_json_and_nothing_else(record: dict[str, Any]) -> None:
    through = json.loads(json.dumps(with_checksum(record)))
    assert without_checksum(through) == record
    for wrong in ({**through, "more": 1}, {**through, "crc": "00000000"}, record, [], None, 5):
        with pytest.raises(ValueError):
            without_checksum(wrong)

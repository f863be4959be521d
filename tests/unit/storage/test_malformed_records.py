"""Records from disk with anything wrong in them, whose checksum is right: told as damage, or read and written again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaign_folders import campaign_record, defect, finding_record, written_campaign
from jostle.commands.triage import triaged
from jostle.errors import JostleError
from jostle.storage.campaign_record import CONFIG, campaign_from_json, read_campaign
from jostle.storage.checksums import with_checksum
from jostle.storage.class_names import CLASS_NAMES, campaign_class_names
from jostle.storage.coverage_history import COVERAGE, CoveragePoint, encode_point, read_coverage
from jostle.storage.defect_case import CASE, read_case
from jostle.storage.defects import DEFECTS_FILE, defect_as_json, read_defects
from jostle.storage.environment import ENVIRONMENT, changes_since
from jostle.storage.files import as_json
from jostle.storage.finding_record import decode_record, encode_record, record_as_json
from jostle.storage.findings import FINDINGS, RECORD, finding_folders
from jostle.storage.journal import JOURNAL, JournalLine, decode_line, encode_line, read_journal
from jostle.storage.overview import overview_of
from jostle.storage.status import STATUS, read_status
from malformed_records import malformed
from soaking import times

LINE = JournalLine(
    *(0, 16, 16, 3, "abc", ("flip:1",), ("noise",), ("nan:2",)), {"flip": 2}, {"flip": 1}, failing=2, failing_digest="d"
)
POINT = CoveragePoint(16, {"kmnc": {"covered": 0.5, "neurons": 3.0}})


def as_bytes(value: Any, checked: bool = False) -> bytes:
    return json.dumps(with_checksum(value) if checked and isinstance(value, dict) else value).encode() + b"\n"


def without(record: bytes) -> dict[str, Any]:
    """What the bytes of a record say, but for its checksum."""
    return {name: value for name, value in json.loads(record).items() if name != "crc"}


def check_each(record: Any, read: Callable[[bytes], Any], write: Callable[[Any], bytes], checked: bool) -> None:
    """Of malformed copies, each is told as damage, or what it says can be written and read again."""
    refused, every = 0, list(malformed(record))
    for wrong in random.Random(0).sample(every, times(min(len(every), 500), len(every))):
        try:
            said = read(as_bytes(wrong, checked))
        except (ValueError, JostleError) as error:
            assert len(str(error).splitlines()) <= 1 and len(str(error)) < 11_000, str(error)[:300]
            refused += 1
            continue
        again = read(write(said))  # NaN and infinities are written as their names
        assert repr(read(write(again))) == repr(again), wrong
    assert refused > 20


@pytest.mark.soak
def test_a_line_of_the_journal() -> None:
    check_each(without(encode_line(LINE)), decode_line, encode_line, checked=True)


@pytest.mark.soak
@pytest.mark.parametrize("number", [0, 2])
def test_a_finding(number: int) -> None:
    content = without(encode_record(record_as_json(finding_record(number))))
    check_each(content, decode_record, lambda record: encode_record(record_as_json(record)), checked=True)


@pytest.mark.soak
def test_a_campaign() -> None:
    check_each(
        campaign_record().as_json(),
        lambda content: campaign_from_json(as_object(json.loads(content))),
        lambda record: as_json(record.as_json()),
        checked=False,
    )


def as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def swallow(read: Callable[[], object]) -> None:
    """Reads what may be refused in one line, and not otherwise."""
    try:
        read()
    except JostleError as error:
        assert len(str(error).splitlines()) == 1


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return written_campaign(tmp_path / "out", 3)


@pytest.mark.soak
def test_other_files_of_a_campaign(campaign: Path) -> None:
    place = finding_folders(campaign / FINDINGS)[0]
    defects = {"version": 1, "defects": [defect_as_json(defect(0, ["0001-flip-x"]))]}
    defects["version"] = json.loads((campaign / DEFECTS_FILE).read_bytes())["version"]
    case = {"version": 1, "model": "net.py:model", "defect": defects["defects"][0]}
    files: dict[str, tuple[Any, bool, Path, Callable[[], object]]] = {
        STATUS: (
            {"seconds": 1.0, "coverage": {"nc": {"covered": 0.5}}},
            False,
            campaign,
            lambda: read_status(campaign),
        ),
        ENVIRONMENT: ({"torch": "2.0", "numpy": "2"}, False, campaign, lambda: list(changes_since(campaign))),
        COVERAGE: (json.loads(encode_point(POINT)), False, campaign, lambda: read_coverage(campaign)),
        CLASS_NAMES: ({"0": "cat", "1": "dog"}, False, campaign, lambda: campaign_class_names(campaign)),
        DEFECTS_FILE: (defects, True, campaign, lambda: read_defects(campaign)),
        CASE: (case, False, place, lambda: read_case(place)),
    }
    for name, (record, checked, folder, read) in files.items():
        every = list(malformed(record))
        for wrong in random.Random(0).sample(every, times(40, len(every))):
            (folder / name).write_bytes(as_bytes(wrong, checked))
            swallow(read)
            if name == STATUS:
                statistics = read_status(campaign)
                assert all(figure is None or figure == figure for figure in (statistics.seconds, statistics.corpus))


@pytest.mark.soak
def test_a_campaign_with_a_malformed_record_is_shown_or_refused(campaign: Path) -> None:
    place = finding_folders(campaign / FINDINGS)[0]
    finding, line = record_as_json(finding_record(0)), without(encode_line(LINE))
    records: list[tuple[Path, list[bytes]]] = [
        (place / RECORD, [as_bytes(wrong, True) for wrong in malformed(finding)]),
        (campaign / JOURNAL, [as_bytes(wrong, True) for wrong in malformed(line)]),
        (campaign / CONFIG, [as_bytes(wrong) for wrong in malformed(campaign_record().as_json())]),
    ]
    for path, contents in records:
        before = path.read_bytes()
        for content in random.Random(0).sample(contents, times(12, len(contents))):
            path.write_bytes(content)
            for show in (lambda: overview_of(campaign), lambda: triaged(campaign), lambda: read_campaign(campaign)):
                try:
                    swallow(show)
                except ValueError:
                    assert path.name == CONFIG  # which read_campaign leaves to whoever asked
        path.write_bytes(before)
    assert len(read_journal(campaign / JOURNAL).lines) > 0

"""Whatever happens to the files of a campaign, it goes on or refuses in one line; never a traceback."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from running import Ended, in_this_process

from jostle.cli.terminal import Exit
from jostle.storage.findings import is_whole
from jostle.storage.write_ahead_log import LOG, WriteAheadLog
from soaking import Count, times

Run = Callable[..., Ended]
CALL = [
    *[
        "fuzz",
        "jostle.zoo:lenet5",
        "--seeds",
        "few.npz",
        "--oracle",
        "flip",
        "--mutator",
        "noise",
        "--sigma",
        "0.4",
        "--radius",
        "1",
    ],
    *["--coverage", "kmnc,nc", "--batch", "16", "--executions"],
]
SHORT, LONG = str(10 + 6 * 16), str(10 + 10 * 16)  # whole steps, so that the one begins the other


@pytest.fixture(scope="module")
def finished(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Campaigns that nothing happened to, by how long they are."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        assert in_this_process(*CALL, SHORT, "--out", str(folder / SHORT)).code == Exit.FINDINGS
        assert in_this_process(*CALL, LONG, "--out", str(folder / LONG)).code == Exit.FINDINGS
    return lambda executions: folder / executions


@pytest.fixture
def copied(finished: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished(SHORT), tmp_path / "out"))


def gone_on(out: Path) -> Ended:
    ended = in_this_process(*CALL, LONG, "--json", "--out", str(out))
    assert "Traceback" not in ended.err
    return ended


def check_like(out: Path, other: Path) -> None:
    assert (out / "journal.jsonl").read_bytes() == (other / "journal.jsonl").read_bytes()
    for folder in (out, other):
        assert all(is_whole(place) for place in (folder / "findings").iterdir())
    for name in ("corpus", "failing"):
        ours, theirs = ({path.name: path.read_bytes() for path in (one / name).iterdir()} for one in (out, other))
        assert ours == theirs


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped", "of another step"])
@pytest.mark.parametrize(("place", "which"), [("corpus", 0), ("corpus", 1), ("corpus", -1), ("failing", 1)])
def test_a_step_whose_file_is_damaged_is_done_again(
    damage: str, place: str, which: int, in_workshop: Path, copied: Path, finished: Callable[[str], Path]
) -> None:
    file = sorted((copied / place).iterdir())[which]
    whole = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        whole[-100] ^= 1
        file.write_bytes(whole)
    else:
        shutil.copy(sorted((copied / place).iterdir())[which - 1], file)
    ended = gone_on(copied)
    (line,) = ended.err.splitlines()
    assert ("made again" if place == "failing" else "done again") in line and f"step {int(file.stem)} " in line
    assert len(list((copied / "quarantine").iterdir())) == (damage != "gone")
    check_like(copied, finished(LONG))
    assert gone_on(copied).err == "the budget was spent before, so nothing more ran: give more to go on\n"


def test_a_corpus_that_is_lost_altogether_is_made_again(
    in_workshop: Path, copied: Path, finished: Callable[[str], Path]
) -> None:
    shutil.rmtree(copied / "corpus")
    assert "done again" in gone_on(copied).err
    check_like(copied, finished(LONG))


@pytest.mark.parametrize("line", [0, 1, 4, -1])
def test_a_damaged_journal_line_takes_the_campaign_back_to_before_it(
    line: int, in_workshop: Path, copied: Path, finished: Callable[[str], Path]
) -> None:
    journal = copied / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"kept": ', b'"kept": 1')
    journal.write_bytes(b"".join(lines))
    ended = gone_on(copied)
    (told,) = ended.err.splitlines()
    assert f"the journal is damaged from step {line % len(lines)} on" in told
    (tail,) = (copied / "quarantine").glob("journal-*.jsonl")
    assert tail.read_bytes() == b"".join(lines[line % len(lines) :])
    check_like(copied, finished(LONG))


@pytest.mark.parametrize("name", ["finding.json", "input.npy", "reference.npy"])
def test_a_damaged_finding_is_set_aside(name: str, in_workshop: Path, copied: Path) -> None:
    place = sorted((copied / "findings").iterdir())[0]
    content = bytearray((place / name).read_bytes())
    (place / name).write_bytes(content[: len(content) // 2])
    ended = gone_on(copied)
    (line,) = ended.err.splitlines()
    assert "damaged findings were moved" in line and place.name in line
    assert (copied / "quarantine" / f"findings-{place.name}").is_dir() and ended.code == Exit.FINDINGS


def test_a_finding_without_its_record_is_set_aside_if_it_was_finished(in_workshop: Path, copied: Path) -> None:
    first, second = sorted((copied / "findings").iterdir())[:2]
    (first / "finding.json").unlink()
    shutil.rmtree(second)
    second.mkdir()
    (second / "input.npy").write_bytes(b"\x93NUM")
    (line,) = gone_on(copied).err.splitlines()
    assert first.name in line and second.name not in line
    assert [path.name for path in (copied / "quarantine").iterdir()] == [f"findings-{first.name}"]


def test_a_damaged_profile_is_taken_again(in_workshop: Path, copied: Path, finished: Callable[[str], Path]) -> None:
    profile = copied / "profile.safetensors"
    whole = bytearray(profile.read_bytes())
    whole[-5] ^= 64
    profile.write_bytes(whole)
    assert "profile.safetensors was damaged" in gone_on(copied).err
    assert profile.read_bytes() == (finished(LONG) / "profile.safetensors").read_bytes()
    assert (copied / "quarantine" / "profile.safetensors").read_bytes() == bytes(whole)
    check_like(copied, finished(LONG))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000])
def test_a_damaged_configuration_is_refused_and_left_alone(content: bytes, in_workshop: Path, copied: Path) -> None:
    (copied / "config.json").write_bytes(content)
    ended = gone_on(copied)
    (line,) = ended.err.splitlines()
    assert ended.code == Exit.USAGE and "config.json is damaged" in line and "give another --out" in line
    assert (copied / "config.json").read_bytes() == content


@pytest.mark.parametrize("number", [0, 3, "1", "2", True, None])
@pytest.mark.parametrize("command", ["fuzz", "status", "evaluate", "cmin"])
def test_a_folder_of_another_version_is_refused(number: object, command: str, in_workshop: Path, copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps({**config, "folder format": number}))
    ended = gone_on(copied) if command == "fuzz" else in_this_process(command, str(copied))
    (line,) = ended.err.splitlines()
    assert ended.code == Exit.USAGE
    assert "written by another version of Jostle" in line and "go on with that version" in line


def test_what_is_not_ours_is_left_alone(in_workshop: Path, copied: Path, finished: Callable[[str], Path]) -> None:
    places = ["notes.txt", "corpus/mine.safetensors", "findings/mine/x.npy", ".hidden", "corpus/.mine.txt.tmp"]
    for place in places:
        (copied / place).parent.mkdir(exist_ok=True)
        (copied / place).write_text("mine")
    assert not gone_on(copied).err
    assert all((copied / place).read_text() == "mine" for place in places)
    assert (copied / "journal.jsonl").read_bytes() == (finished(LONG) / "journal.jsonl").read_bytes()


DEEP = b"[" * 100_000
NESTED = b"[" * 900 + b"]" * 900  # which can be read, and not be worked with
GREAT = b"1" + b"0" * 400  # greater than any float


@pytest.mark.parametrize(
    "content",
    [
        DEEP,
        NESTED,
        b'{"seconds": %s}' % NESTED,
        b'{"seconds": %s, "executions_per_second": %s, "coverage": {"nc": {"covered": %s}}}' % (GREAT, GREAT, GREAT),
    ],
)
def test_statistics_that_nobody_can_work_with_cost_no_more_than_themselves(
    content: bytes, in_workshop: Path, copied: Path
) -> None:
    (copied / "status.json").write_bytes(content)
    for more in ([], ["--json"]):
        assert in_this_process("status", str(copied), *more).code == Exit.CLEAN
    ended = gone_on(copied)
    assert ended.code == Exit.FINDINGS and not ended.err


@pytest.mark.parametrize("content", [DEEP, NESTED])
def test_a_record_without_end_is_damage_like_any_other(content: bytes, in_workshop: Path, copied: Path) -> None:
    place = sorted((copied / "findings").iterdir())[0]
    (place / "finding.json").write_bytes(content)
    assert in_this_process("status", str(copied)).code == Exit.CLEAN
    (line,) = gone_on(copied).err.splitlines()
    assert "damaged findings were moved" in line and place.name in line


def logged(out: Path, *blocks: bytes) -> bytes:
    """A log of these blocks, each with the right checksum."""
    safeguard = WriteAheadLog(out)
    for block in blocks:
        safeguard.add(block)
    safeguard.close()
    return (out / LOG).read_bytes()


def told(text: bytes) -> bytes:
    return safetensors.numpy.save({"told": np.frombuffer(text, np.uint8)})


@pytest.mark.parametrize(
    "block",
    [
        b"garbage",
        b"",
        told(b"{}"),
        told(b"null"),
        told(DEEP),
        told(b'{"places": ["findings/0001-x"], "moved": [0], "records": [{}]}'),
        told(b'{"places": 5, "moved": [0], "records": [{}]}'),
        told(b'{"places": [], "moved": [0], "records": []}'),
        safetensors.numpy.save({"inputs": np.zeros(3)}),
    ],
)
def test_a_log_of_what_is_no_finding_is_set_aside_with_what_is_unfinished(
    block: bytes, in_workshop: Path, copied: Path, finished: Callable[[str], Path]
) -> None:
    content = logged(copied, block)
    half = copied / "findings" / "0999-half"
    half.mkdir()
    ended = gone_on(copied)
    first, second = ended.err.splitlines()
    assert "damaged findings were moved" in first and half.name in first
    assert "findings.log is damaged" in second and ended.code == Exit.FINDINGS
    assert (copied / "quarantine" / LOG).read_bytes() == content
    assert (copied / "quarantine" / "findings-0999-half").is_dir()
    check_like(copied, finished(LONG))


def test_a_log_that_was_cut_off_is_no_damage(in_workshop: Path, copied: Path) -> None:
    (copied / LOG).write_bytes(logged(copied, b"something")[:-2])
    half = copied / "findings" / "0999-half"
    half.mkdir()
    assert not gone_on(copied).err
    assert not half.exists() and not list((copied / "quarantine").iterdir())


@pytest.mark.parametrize("name", [".reduced.npz.tmp", "inflight.bin"])
def test_what_a_killed_process_left_is_removed(name: str, in_workshop: Path, copied: Path) -> None:
    (copied / name).write_bytes(b"left")
    assert not gone_on(copied).err and not (copied / name).exists()


def tampered(out: Path, chance: random.Random) -> None:
    """Something happens to some files."""
    for _ in range(chance.choice([1, 1, 3])):
        files = sorted(path for path in out.rglob("*") if path.is_file())
        file = chance.choice(files)
        content = bytearray(file.read_bytes())
        what = chance.choice(["truncate", "flip", "flip", "delete", "foreign", "garbage"])
        if what == "truncate":
            file.write_bytes(content[: chance.randrange(len(content) + 1)])
        elif what == "flip" and content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            file.write_bytes(content)
        elif what == "delete":
            file.unlink()
        elif what == "garbage":
            file.write_bytes(chance.randbytes(chance.randrange(200)))
        else:
            (file.parent / f"foreign-{chance.randrange(10)}").write_text("mine")


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("some", range(times(2, 20)))
def test_tampering_never_ends_in_a_traceback(
    some: int, in_workshop: Path, finished: Callable[[str], Path], tmp_path: Path, record_property: Count
) -> None:
    record_property("tampered folders", times(4, 10))
    for number in range(times(4, 10)):
        out = Path(shutil.copytree(finished(SHORT), tmp_path / str(number)))
        tampered(out, random.Random(10 * some + number))
        for call in (["status", str(out)], [*CALL, LONG, "--json", "--out", str(out)], ["status", str(out)]):
            ended = in_this_process(*call)
            assert "Traceback" not in ended.err and "defect in Jostle" not in ended.err, ended.err
            assert ended.code in (Exit.CLEAN, Exit.FINDINGS, Exit.USAGE, Exit.NOTHING_RAN)
            assert ended.code != Exit.USAGE or len(ended.err.splitlines()) == 1

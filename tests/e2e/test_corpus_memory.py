"""A corpus that memory has no room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import in_this_process
from test_full_disk import CALL, room_for

from jostle.cli.terminal import Exit

LITTLE = ("--corpus-memory", "20K")  # of 28 by 28 images, six


@pytest.fixture(scope="module")
def plenty(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of a campaign with memory enough."""
    out = tmp_path_factory.mktemp("plenty") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop)
        assert in_this_process(*CALL, str(out)).code == Exit.FINDINGS
    return (out / "journal.jsonl").read_bytes()


def test_a_campaign_and_its_going_on_are_the_same_with_little_memory(
    in_workshop: Path, plenty: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = in_this_process(*CALL, str(out), *LITTLE, "--executions", "58")
    assert first.code == Exit.FINDINGS and first.json()["corpus"] > 6
    assert in_this_process(*CALL, str(out), "--corpus-memory", "1").json()["executions"] == 106
    assert (out / "journal.jsonl").read_bytes() == plenty and not list(out.rglob(".*"))


@pytest.mark.parametrize("writes", [12, 25, 40])
def test_a_disk_without_room_for_older_entries_gives_one_line_and_the_same_command_goes_on(
    writes: int, in_workshop: Path, plenty: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with room_for(writes):
        ended = in_this_process(*CALL, str(out), *LITTLE)
    line = ended.err.splitlines()[-1]
    assert ended.code == Exit.OUR_ERROR and "No space left on device" in line and "goes on" in line
    assert in_this_process(*CALL, str(out), *LITTLE).code == Exit.FINDINGS
    assert (out / "journal.jsonl").read_bytes() == plenty

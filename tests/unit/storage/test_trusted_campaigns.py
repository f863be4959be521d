"""What the user's own campaigns executed is remembered whole, privately, and believed only if it is the user's."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jostle.storage import trusted_campaigns
from jostle.storage.trusted_campaigns import (
    ExecutedCode,
    TrustedCampaign,
    known_code,
    remember,
    trusted_folder,
)

CODE = ExecutedCode("model", "/somewhere/net.py", "net", "0" * 64)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def campaign(number: int = 0) -> TrustedCampaign:
    return TrustedCampaign(f"/somewhere/{number}", (CODE,))


def test_what_is_remembered_is_known_and_nothing_else() -> None:
    assert not known_code().ran(CODE)
    assert remember(campaign()) == ""
    known = known_code()
    assert known.ran(CODE) and "/somewhere/0" in known.working_folders
    other = ExecutedCode("model", CODE.file, CODE.name, "1" * 64)
    assert not known.ran(other) and known.ran_before(other)
    assert not known.ran_before(ExecutedCode("oracle", CODE.file, CODE.name, CODE.digest))
    assert TrustedCampaign.from_json(campaign().as_json()) == campaign()


def test_nobody_else_can_read_or_write_it() -> None:
    remember(campaign())
    [record] = trusted_folder().glob("*.json")
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    for folder in (trusted_folder(), trusted_folder().parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_to_is_not_believed(mode: int) -> None:
    remember(campaign())
    trusted_folder().chmod(mode)
    assert not known_code().ran(CODE)
    assert "others can write to it" in remember(campaign())


def test_a_record_that_others_can_write_to_is_not_believed() -> None:
    remember(campaign())
    [record] = trusted_folder().glob("*.json")
    record.chmod(0o666)
    assert not known_code().ran(CODE)


def test_what_belongs_to_another_user_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    remember(campaign())
    monkeypatch.setattr("os.geteuid", lambda: trusted_folder().stat().st_uid + 1)
    assert not known_code().ran(CODE)
    assert "belongs to another user" in remember(campaign())


def test_a_link_in_place_of_the_folder_is_not_believed(tmp_path: Path) -> None:
    remember(campaign())
    trusted_folder().rename(tmp_path / "moved")
    trusted_folder().symlink_to(tmp_path / "moved")
    assert not known_code().ran(CODE)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"working folder": 1}', b'{"working folder": "/", "code": [1]}']
)
def test_a_damaged_record_is_as_good_as_none(content: bytes) -> None:
    remember(campaign())
    (trusted_folder() / "damaged.json").write_bytes(content)
    assert known_code().ran(CODE)


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    assert str(tmp_path / "state") in remember(campaign())


def test_many_at_once_lose_nothing() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(remember, (campaign(number % 20) for number in range(60)))) == {""}
    assert len(known_code().working_folders) == 20
    assert not list(trusted_folder().glob(".*.tmp"))


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_campaigns, "MOST", 3)
    for number in range(5):
        remember(campaign(number))
    assert len(list(trusted_folder().glob("*.json"))) == 3
    assert "/somewhere/4" in known_code().working_folders

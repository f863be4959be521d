"""A campaign's folder as messages: what arrives is what was sent, in parts of bounded size, and stays in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jostle.scale import folder_parcels as parcels
from jostle.scale.folder_parcels import file_array, folder_parcels, put_files
from jostle.scale.parcel import Parcel

CONTENT = {
    "journal.jsonl": b'{"step": 0}\n',
    "profile.safetensors": b"\x00\xff" * 50,
    "corpus/00000000.safetensors": b"entries" * 30,
    "corpus/00000003.safetensors": b"",
    "twins/int8.onnx": bytes(range(256)),
    "graphs/17.json": b"{}",
}
NOT_SENT = {"config.json": b"{}", "findings/1/finding.json": b"{}", "failing/00000001.safetensors": b"tests"}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    for name, content in {**CONTENT, **NOT_SENT}.items():
        path = tmp_path / "campaign" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "campaign"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def received(campaign: Path, folder: Path) -> int:
    """Puts all that a worker is sent into its folder; how many messages that took."""
    folder.mkdir()
    messages = [parcel.encoded() for parcel in folder_parcels(campaign, "profile.safetensors", "absent.json")]
    for message in messages:
        put_files(Parcel.decoded(message).arrays, folder)
    return len(messages)


def test_a_worker_has_the_same_files_and_none_besides(campaign: Path, tmp_path: Path) -> None:
    assert received(campaign, tmp_path / "worker") == 1
    assert contents(tmp_path / "worker") == CONTENT


def test_messages_are_of_bounded_size(campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "AT_ONCE", 100)
    largest = max(map(len, CONTENT.values()))
    sizes = [
        sum(array.nbytes for array in parcel.arrays.values())
        for parcel in folder_parcels(campaign, "profile.safetensors")
    ]
    assert len(sizes) > 2 and max(sizes) < 100 + largest
    received(campaign, tmp_path / "worker")
    assert contents(tmp_path / "worker") == CONTENT


def test_a_folder_with_nothing_is_no_message(tmp_path: Path) -> None:
    assert list(folder_parcels(tmp_path, "profile.safetensors")) == []


def test_what_was_there_is_replaced(tmp_path: Path) -> None:
    for content in (b"a long one", b"short"):
        put_files({"journal.jsonl": file_array(content)}, tmp_path)
    assert contents(tmp_path) == {"journal.jsonl": b"short"}


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/tmp/outside",
        "corpus/../../outside",
        "corpus/..",
        "corpus/.",
        "corpus/",
        "..",
        ".",
        "",
        "findings/1",
        "corpus/deeper/1",
        "./corpus/1",
        "corpus//1",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "worker"
    folder.mkdir()
    with pytest.raises(ValueError, match="is no file of a campaign"):
        put_files({name: torch.zeros(3, dtype=torch.uint8)}, folder)
    assert contents(tmp_path) == {}

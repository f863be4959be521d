"""Twins that a campaign keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.session.made_twins import TWINS, keep_twins, twins_folder


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    for name in ("int8.onnx", "openvino.bin", "openvino.xml", "onnx.onnx", "onnx.onnx.data"):
        (folder / name).write_text(f"new {name}")
    return folder


def kept(campaign: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (campaign / TWINS).iterdir()}


def test_what_is_kept_is_found_by_the_next_run(made: Path, tmp_path: Path) -> None:
    keep_twins(made, tmp_path / "campaign")
    with twins_folder(tmp_path / "campaign") as folder:
        assert {path.name: path.read_text() for path in folder.iterdir()} == kept(tmp_path / "campaign")
    assert not folder.exists()


def test_a_twin_that_is_kept_stays_as_it_is(made: Path, tmp_path: Path) -> None:
    (tmp_path / TWINS).mkdir()
    (tmp_path / TWINS / "int8.onnx").write_text("old")
    keep_twins(made, tmp_path)
    assert kept(tmp_path)["int8.onnx"] == "old" and kept(tmp_path)["onnx.onnx"] == "new onnx.onnx"


@pytest.mark.parametrize("missing", ["openvino.xml", "openvino.bin", "onnx.onnx", "onnx.onnx.data"])
def test_a_twin_of_several_files_is_kept_whole(missing: str, made: Path, tmp_path: Path) -> None:
    """A run that was killed in between has kept some of its files, of which another run made others."""
    (tmp_path / TWINS).mkdir()
    for path in made.iterdir():
        if path.name != missing:
            (tmp_path / TWINS / path.name).write_text("old")
    keep_twins(made, tmp_path)
    twin = missing.partition(".")[0]
    assert all(text == f"new {name}" for name, text in kept(tmp_path).items() if name.startswith(twin))
    assert kept(tmp_path)["int8.onnx"] == "old"


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / TWINS).mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / TWINS / "onnx.onnx").symlink_to(tmp_path / "secret")
    with twins_folder(tmp_path) as folder:
        assert not list(folder.iterdir())

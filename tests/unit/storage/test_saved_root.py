"""The seed of a finding stands beside it as it was: of any label, with the model's answer, and how it was moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from jostle.errors import OutputRefused
from jostle.inputs.geometry import Placements
from jostle.records import Candidates, Finding, Violation
from jostle.storage.finding_block import BEFORE_RECORD, encode_findings, folders_in
from jostle.storage.finding_record import RECORD, InputType
from jostle.storage.findings import SavedRoot, is_whole, read_finding, read_record, read_root, write_files
from making import batch_of

IMAGES = torch.rand(3, 1, 6, 6, generator=torch.Generator().manual_seed(0))
SHIFT = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])


def row(labels: Tensor, answers: Tensor | None = None, moved: bool = False) -> Candidates:
    """The second of three inputs."""
    rows = batch_of(IMAGES * 0.5, references=IMAGES)
    rows = replace(rows, seeds=replace(rows.seeds, labels=labels, answers=answers)).select(torch.tensor([1]))
    return replace(rows, lineage=Placements(SHIFT)) if moved else rows


def written(folder: Path, row: Candidates, input_type: InputType = InputType.ARRAY) -> Path:
    finding = Finding(Violation("flip", "flip:1", "…"), 1, 2, 3, row, True)
    (files,) = folders_in(encode_findings({"findings/0001-x": finding}, input_type)).values()
    assert list(files)[-1] == RECORD and set(files) - {RECORD} <= set(BEFORE_RECORD)
    write_files(folder / "0001-x", files)
    return folder / "0001-x"


def root_of(place: Path) -> SavedRoot:
    return read_root(read_finding(place, read_record(place)))


@pytest.mark.parametrize(
    "labels",
    [torch.tensor([4, 5, 6]), torch.rand(3), torch.rand(3, 2), torch.randint(0, 2, (3, 6, 6), dtype=torch.uint8)],
    ids=["class", "number", "numbers", "mask"],
)
def test_a_label_of_any_task_comes_back_as_it_was(labels: Tensor, tmp_path: Path) -> None:
    root = root_of(written(tmp_path, row(labels)))
    assert root.label.dtype == labels.dtype and torch.equal(root.label, labels[1])
    assert torch.equal(root.seed, IMAGES[1]) and root.answer is None and root.placement is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_the_answer_comes_back(dtype: torch.dtype, tmp_path: Path) -> None:
    answers = torch.arange(12).reshape(3, 4).to(dtype)
    answer = root_of(written(tmp_path, row(torch.arange(3), answers))).answer
    assert answer is not None and answer.tolist() == [4, 5, 6, 7]


def test_an_input_that_was_moved_comes_with_its_seed_and_the_way(tmp_path: Path) -> None:
    moved = row(torch.arange(3), moved=True)
    place = written(tmp_path, moved)
    root, finding = root_of(place), read_finding(place, read_record(place))
    assert torch.equal(root.seed, IMAGES[1]) and root.placement is not None
    references = Placements(root.placement[None]).references(root.seed[None].clone())
    assert torch.equal(references[0], finding.reference) and not torch.equal(finding.reference, root.seed)


def test_graphs_have_no_labels(tmp_path: Path) -> None:
    place = written(tmp_path, row(torch.arange(3)), InputType.GRAPH)
    assert not (place / "label.npy").exists()
    with pytest.raises(OutputRefused, match=r"has no label\.npy, as findings of older versions"):
        root_of(place)


@pytest.mark.parametrize("name", ["label", "answer"])
def test_an_array_that_cannot_be_read_makes_a_finding_damaged(name: str, tmp_path: Path) -> None:
    place = written(tmp_path, row(torch.arange(3), torch.rand(3, 4)))
    assert is_whole(place)
    (place / f"{name}.npy").write_bytes(b"no")
    assert not is_whole(place)

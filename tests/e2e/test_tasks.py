"""Models that do other things than telling classes apart: the plain command finds the planted defect of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
TASKS = Path(__file__).parents[2] / "examples" / "tasks.py"
# Model, seeds with options, the oracle that finds its defect, and what every finding must be.
PLANTED = [
    ("house_price", "sold_houses", "moved", "the prediction moved from"),
    ("segmenter", "discs", "masks", "class 1 is the worst"),
    ("detector", "blobs", "boxes", "a box of class 1 vanished"),
    ("embedder", "houses", "embedding", "by cosine distance"),
    ("tagger", "signals", "sequence", "tokens changed"),
]


def fuzzed(run: Run, out: Path, model: str, seeds: str, *more: str) -> Ended:
    seeds, *options = seeds.split()
    names = f"{TASKS}:{model}", "--seeds", f"{TASKS}:{seeds}", *options
    return run("fuzz", *names, "--executions", "2000", "--out", str(out), *more)


@pytest.mark.parametrize(("model", "seeds", "oracle", "summary"), PLANTED, ids=[model for model, *_ in PLANTED])
def test_the_planted_defect_is_found_and_nothing_else(
    jostle: Run, tmp_path: Path, model: str, seeds: str, oracle: str, summary: str
) -> None:
    ended = fuzzed(jostle, tmp_path / "out", model, seeds, "--minimise")
    assert ended.code == Exit.FINDINGS, ended.err
    assert f"sought: {oracle}, nan, crash" in ended.err
    folders = sorted((tmp_path / "out" / "findings").iterdir())
    records = [json.loads((folder / "finding.json").read_text()) for folder in folders]
    assert {record["kind"] for record in records} == {oracle}
    assert all(summary in record["summary"] for record in records)
    assert all(record["minimised"]["L2"] <= record["change"]["L2"] for record in records)


def test_seeds_that_the_model_gets_wrong_are_no_findings_and_listed(jostle: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        f"import sys\nsys.path.insert(0, {str(TASKS.parent)!r})\nfrom tasks import discs\n\n"
        "def mislabelled():\n    images, masks = discs()\n    masks[:3] = 1 - masks[:3]\n    return images, masks\n"
    )
    names = f"{TASKS}:segmenter", "--seeds", f"{tmp_path / 'wrong.py'}:mislabelled"
    ended = jostle("fuzz", *names, "--executions", "40", "--out", str(tmp_path / "out"))
    assert ended.code == Exit.CLEAN and "40 seeds, mean IoU 0." in ended.err
    assert "3 of 40 (mean IoU 0." in ended.out
    assert len(json.loads((tmp_path / "out" / "wrong-on-seeds.json").read_text())) == 3


@pytest.mark.parametrize(("model", "seeds"), [("detector", "blobs"), ("house_price", "sold_houses")])
def test_a_finding_alone_shows_its_defect_again(jostle: Run, tmp_path: Path, model: str, seeds: str) -> None:
    fuzzed(jostle, tmp_path / "out", model, seeds)
    folders = sorted((tmp_path / "out" / "findings").iterdir())
    moved = [folder for folder in folders if (folder / "placement.npy").exists()]
    assert moved or model != "detector"
    ended = jostle("replay", str((moved or folders)[0]))
    assert ended.code == Exit.FINDINGS and "shown again" in ended.out


@pytest.mark.parametrize(
    ("model", "seeds", "cause", "fix"),
    [
        ("segmenter", "discs --oracle moved", "needs predictions [batch] or [batch, values]", "--output"),
        ("house_price", "houses --oracle embedding", "needs embeddings [batch, values]", "this model gives [batch]"),
        ("house_price", "houses --oracle masks", "needs masks [batch, classes, height, width]", "leave masks out"),
        ("segmenter", "discs --oracle sequence", "needs tokens [batch, tokens]", "leave sequence out"),
        ("segmenter", "discs --oracle boxes", "boxes [batch, boxes, 4] and scores [batch, boxes]", "return them so"),
        ("tagger", "signals --oracle sequence --field words", "--field 'output.words' is unknown", "choose from"),
        ("house_price", "houses --oracle moved --tolerance some", "--tolerance some", "10%, or 3x"),
        ("house_price", "houses --oracle moved --tolerance 1,2", "has 2 amounts", "give one, or all"),
        ("house_price", "houses --oracle moved --iou 0.5", "--iou needs", "--oracle masks or boxes"),
        ("tagger", "signals --oracle sequence --edit-distance 3x", "--edit-distance 3x", "such as 10%"),
    ],
)
def test_an_oracle_that_does_not_fit_is_refused_in_one_line(
    jostle: Run, tmp_path: Path, model: str, seeds: str, cause: str, fix: str
) -> None:
    ended = fuzzed(jostle, tmp_path / "out", model, seeds)
    assert ended.code == Exit.USAGE
    (line,) = ended.err.splitlines()
    assert cause in line and fix in line
    assert not (tmp_path / "out").exists()

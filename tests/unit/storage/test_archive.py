"""A campaign as a folder that can be gone on with, whenever the process died."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jostle.errors import OutputRefused, WriteFailed
from jostle.inputs.geometry import Border, Placements, unmoved
from jostle.mutations import Mutations
from jostle.records import Candidates, Failures, Finding, Violation
from jostle.step_records import PastStep, StepRecord, Summary
from jostle.storage import archive as archives
from jostle.storage.archive import Archive, open_archive, open_campaign
from jostle.storage.campaign_record import FORMAT, CampaignRecord, read_campaign
from jostle.storage.entries import decode_entries, digest_of_entries, encode_entries
from jostle.storage.findings import recorded, true_label
from jostle.storage.history import read_history, read_kept
from making import NOISE, batch_of, placements_of, seeds_of

OURS = {".json", ".jsonl", ".safetensors", ".png", ".log"}  # .log is a row of safetensors
CONFIG = {"model": "m.py:net", "seed": 0}
SEEDS = seeds_of(torch.rand(4, 1, 3, 3), torch.tensor([3, 2, 1, 0]))
NOBODY = SEEDS.as_candidates().select(torch.tensor([], dtype=torch.int64))


def finding(step: int, bug: int = 5, fingerprint: str = "nan:nan:conv1") -> Finding:
    violation = Violation("nan", fingerprint, "NaN first in conv1", {"place": "conv1"})
    return Finding(violation, bug, step, 10 * step + 4, mutants().select(torch.tensor([1])), True)


def mutants() -> Candidates:
    """One of each seed; the last was moved aside on the way."""
    seeds, placements = SEEDS.as_candidates(), unmoved(4)
    placements[3, 0, 2] = 0.5
    return Candidates(
        seeds.inputs / 2, SEEDS, torch.arange(4), seeds.roots, Mutations.all_of(NOISE, 4), Placements(placements)
    )


def so_far(step: int, seconds: float) -> Summary:
    return Summary(step, 10 * step + 4, seconds, 0, 0.0, {}, {}, {}, {}, {}, {})


def record(step: int, kept: Candidates = NOBODY, findings: tuple[Finding, ...] = ()) -> StepRecord:
    return StepRecord(
        step=step,
        planned=10,
        kept=kept,
        findings=tuple(one for one in findings if one.alone),
        flaky=tuple(one for one in findings if not one.alone),
        violations={"nan": 2} if findings else {},
        unconfirmed={"nan": 3} if findings else {},
        failing=Failures.none(NOBODY),
        so_far=so_far(step, float(step)),
    )


def opened(folder: Path, config: Mapping[str, Any]) -> Archive:
    """An archive as sessions hold it, which may be left open as a process that is killed leaves it."""
    return open_campaign(folder, CampaignRecord(config))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three finished steps: the seeds, one that kept mutants, one that found a bug."""
    with open_archive(tmp_path / "run", CONFIG) as archive:
        for told in (record(0, SEEDS.as_candidates()), record(1, mutants()), record(2, findings=(finding(2),))):
            archive(told)
        archive.conclude(so_far(2, 12.5))
    return archive.folder


def assert_same_rows(one: Candidates, other: Candidates) -> None:
    for field in ("inputs", "originals", "references", "parents", "roots", "labels"):
        assert torch.equal(getattr(one, field), getattr(other, field))
    assert one.mutations == other.mutations and torch.equal(placements_of(one), placements_of(other))


def test_what_was_kept_comes_back_with_its_lineage(tmp_path: Path) -> None:
    (tmp_path / "entries").write_bytes(encode_entries(mutants()))
    assert_same_rows(decode_entries(tmp_path / "entries", SEEDS), mutants())


@pytest.mark.parametrize("border", Border)
def test_what_was_kept_is_compared_with_the_same_as_before_it_was_written(border: Border, tmp_path: Path) -> None:
    kept = replace(mutants(), lineage=Placements(placements_of(mutants()), border))
    seeds = SEEDS.as_candidates()
    for name, rows in (("seeds", seeds), ("mutants", kept)):
        (tmp_path / name).write_bytes(encode_entries(rows))
    back = [decode_entries(tmp_path / name, SEEDS) for name in ("seeds", "mutants")]
    assert torch.equal(Candidates.joined(back).references, torch.cat([seeds.references, kept.references]))
    assert [digest_of_entries(rows) for rows in back] == [digest_of_entries(seeds), digest_of_entries(kept)]


def test_the_same_entries_give_the_same_file() -> None:
    assert len({encode_entries(mutants()) for _ in range(30)}) == 1


def test_entries_with_a_border_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "entries").write_bytes(encode_entries(mutants()).replace(b"dark", b"neon"))
    with pytest.raises(ValueError, match="neon"):
        decode_entries(tmp_path / "entries", SEEDS)


def test_history_tells_where_the_campaign_stopped(folder: Path) -> None:
    history = read_history(folder, SEEDS)
    assert history is not None
    digests = [digest_of_entries(kept) for kept in (SEEDS.as_candidates(), mutants())]
    assert history.steps == (
        PastStep(0, 4, 10, 4, (), digests[0]),
        PastStep(1, 14, 10, 4, (), digests[1]),
        PastStep(2, 24, 10, 0, (NOISE,)),
    )
    assert (history.executions, history.seconds) == (24, 12.5)
    assert history.bugs == {("nan", 5)}
    assert (dict(history.findings), dict(history.violations)) == ({"nan": 1}, {"nan": 2})
    assert dict(history.unconfirmed) == {"nan": 3}
    assert_same_rows(history.kept(history.steps), Candidates.joined([SEEDS.as_candidates(), mutants()]))


def test_a_new_folder_has_no_history(tmp_path: Path) -> None:
    assert read_history(opened(tmp_path / "a" / "b", CONFIG).folder, SEEDS) is None


def test_a_finding_folder_holds_all_that_running_it_again_needs(folder: Path) -> None:
    (place,) = (folder / "findings").iterdir()
    arrays = {"input.npy", "reference.npy", "label.npy"}
    assert {path.name for path in place.iterdir()} == {
        "finding.json",
        "campaign.json",
        "picture.png",
        "input.png",
        *arrays,
    }
    assert (place / "campaign.json").read_bytes() == (folder / "config.json").read_bytes()
    assert np.load(place / "label.npy") == SEEDS.labels[1].numpy()
    assert np.array_equal(np.load(place / "input.npy"), mutants().inputs[1].numpy())
    assert np.array_equal(np.load(place / "reference.npy"), SEEDS.inputs[1].numpy())
    told = json.loads((place / "finding.json").read_text())
    assert told["fingerprint"] == "nan:nan:conv1" and told["kind"] == "nan" and told["bug"] == 5
    assert (told["step"], told["execution"], told["root"], told["parent"]) == (2, 24, 1, 1)
    assert told["largest change"] == pytest.approx(float(SEEDS.inputs[1].max() / 2))


@pytest.mark.parametrize("completed", [True, False])
def test_a_finding_says_whether_its_label_is_the_models_own_answer(completed: bool, tmp_path: Path) -> None:
    seeds = replace(SEEDS, completed=torch.tensor([False, completed, True, True]))
    found = replace(finding(2), row=replace(finding(2).row, seeds=seeds))
    archive = opened(tmp_path / "run", CONFIG)
    archive(record(2, findings=(found,)))
    archive.close()
    ((place, told),) = recorded(archive.folder / "findings")
    assert told.own_label == completed
    assert true_label(place, told) == (None if completed else 2)


def test_a_torn_last_line_is_removed_and_the_journal_goes_on_whole(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    whole = journal.read_text()
    journal.write_text(whole + '{"step": 3, "execu')
    archive = opened(folder, CONFIG)
    history = read_history(folder, SEEDS)
    assert history is not None and history.steps[-1].step == 2
    archive(record(3))
    archive.release()
    lines = journal.read_text().splitlines()
    assert "\n".join(lines[:3]) + "\n" == whole
    assert [json.loads(line)["step"] for line in lines] == [0, 1, 2, 3]


def test_a_finding_of_an_unfinished_step_is_found_again_in_the_same_folder(folder: Path) -> None:
    archive = opened(folder, CONFIG)
    journal = (folder / "journal.jsonl").read_bytes()
    archive(record(3, findings=(finding(3, 6, "nan:nan:fc"),)))
    archive.close()
    (folder / "journal.jsonl").write_bytes(journal)  # died before the step's line was written
    again = opened(folder, CONFIG)
    history = read_history(folder, SEEDS)
    assert history is not None and history.bugs == {("nan", 5)}
    again(record(3, findings=(finding(3, 6, "nan:nan:fc"),)))
    again.release()
    history = read_history(folder, SEEDS)
    assert history is not None and history.bugs == {("nan", 5), ("nan", 6)}
    assert len(list((folder / "findings").iterdir())) == 2


def test_a_finding_folder_without_a_record_is_removed(folder: Path) -> None:
    (folder / "findings" / "0002-half").mkdir()
    opened(folder, CONFIG)
    assert not (folder / "findings" / "0002-half").exists()


def test_findings_of_seeds_whose_planting_was_not_finished_are_not_lost_and_not_doubled(tmp_path: Path) -> None:
    archive = opened(tmp_path, CONFIG)
    archive(record(0, findings=(finding(0),)))
    archive.close()
    (tmp_path / "journal.jsonl").write_bytes(b'{"step": 0,')
    again = opened(tmp_path, CONFIG)
    assert read_history(tmp_path, SEEDS) is None
    assert len(list((tmp_path / "findings").iterdir())) == 1
    again(record(0, findings=(finding(0),)))
    again.release()
    assert len(list((tmp_path / "findings").iterdir())) == 1


def test_what_is_not_ours_among_the_findings_is_left_alone(folder: Path) -> None:
    (folder / "findings" / "my-notes").mkdir()
    (folder / "findings" / ".DS_Store").write_bytes(b"x")
    opened(folder, CONFIG).close()
    read_history(folder, SEEDS)
    assert (folder / "findings" / "my-notes").exists() and (folder / "findings" / ".DS_Store").exists()


def test_a_finding_never_takes_the_folder_of_another(folder: Path) -> None:
    for step in (3, 4):
        archive = opened(folder, CONFIG)
        archive(record(step, findings=(finding(step, step),)))
        archive.release()
        shutil.rmtree(min((folder / "findings").iterdir()))
    names = sorted(path.name for path in (folder / "findings").iterdir())
    assert names == ["0003-nan-nan-conv1"]


@pytest.mark.parametrize(
    "fingerprint", ["nan:nan:../../etc", "crash:KeyError:C:\\a\\b?.py:<lambda>", "property:" + "é漢" * 300, "CON:aux"]
)
def test_finding_folders_have_names_that_every_file_system_takes(fingerprint: str, tmp_path: Path) -> None:
    archive = opened(tmp_path, CONFIG)
    archive(record(1, findings=(finding(1, 1, fingerprint),)))
    archive.release()
    (place,) = (tmp_path / "findings").iterdir()
    assert place.name.isascii() and len(place.name) < 80
    assert set(place.name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    assert (
        place.name.startswith("0001") and json.loads((place / "finding.json").read_text())["fingerprint"] == fingerprint
    )


def test_a_folder_of_another_configuration_is_refused_naming_what_differs(folder: Path) -> None:
    with pytest.raises(OutputRefused, match=r"changed: seed\): give another --out"):
        opened(folder, {**CONFIG, "seed": 1})
    with pytest.raises(OutputRefused, match="changed: radius"):
        opened(folder, {**CONFIG, "radius": 0.5})
    assert read_campaign(folder) == CampaignRecord(CONFIG)


def test_a_folder_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OutputRefused, match="not empty"):
        opened(tmp_path, CONFIG)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made_or_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputRefused, match="give another --out"):
        opened(tmp_path / "file" / "run", CONFIG)
    for content in ("{", "[]"):
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(OutputRefused, match="give another --out"):
            opened(tmp_path, CONFIG)


def test_an_input_that_is_no_image_has_no_picture(tmp_path: Path) -> None:
    archive = opened(tmp_path, CONFIG)
    row = batch_of(torch.rand(1, 9))
    archive(record(1, findings=(Finding(Violation("nan", "nan:x", "x"), 1, 1, 1, row, True),)))
    archive.close()
    assert not list(tmp_path.rglob("*.png"))


def test_pictures_are_drawn_in_the_end_and_only_where_there_is_none_yet(folder: Path) -> None:
    (first,) = folder.rglob("picture.png")
    first.write_bytes(b"mine")
    archive = opened(folder, CONFIG)
    archive(record(3, findings=(finding(3, 6, "nan:nan:fc"),)))
    assert list(folder.rglob("picture.png")) == [first]
    archive.close()
    assert len(list(folder.rglob("picture.png"))) == 2 and first.read_bytes() == b"mine"


def test_pictures_of_a_run_that_was_killed_are_drawn_by_the_next(folder: Path) -> None:
    (picture,) = folder.rglob("picture.png")
    picture.unlink()
    (folder / "findings" / "0002-half").mkdir()
    opened(folder, CONFIG).close()
    assert list(folder.rglob("picture.png")) == [picture]


def test_what_an_input_is_compared_with_is_its_seed_moved_along(tmp_path: Path) -> None:
    row = mutants().select(torch.tensor([3]))
    archive = opened(tmp_path, CONFIG)
    archive(record(1, findings=(Finding(Violation("nan", "nan:x", "x"), 1, 1, 1, row, True),)))
    archive.release()
    (reference,) = tmp_path.rglob("reference.npy")
    assert np.array_equal(np.load(reference), row.references[0].numpy())
    assert not np.array_equal(np.load(reference), SEEDS.inputs[3].numpy())


def test_what_a_campaign_kept_can_be_read_while_it_runs(tmp_path: Path) -> None:
    archive = opened(tmp_path, CONFIG)
    archive(record(0, SEEDS.as_candidates()))
    archive(record(1, mutants()))
    archive.release()
    journal = tmp_path / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"step": 2, "execu')
    before = journal.read_bytes()
    assert_same_rows(read_kept(tmp_path, SEEDS), Candidates.joined([SEEDS.as_candidates(), mutants()]))
    assert journal.read_bytes() == before
    with pytest.raises(OutputRefused, match="holds no campaign"):
        read_kept(tmp_path / "corpus", SEEDS)


def test_nothing_written_is_a_pickle(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.suffix == ".npy":
            np.load(path, allow_pickle=False)
        else:
            assert (
                path.is_dir()
                or path.name == "lock"
                or path.suffix in {".json", ".jsonl", ".safetensors", ".png", ".log"}
            )


def test_a_folder_in_which_a_process_is_at_work_is_refused_until_it_is_done(tmp_path: Path) -> None:
    at_work = opened(tmp_path, CONFIG)
    with pytest.raises(OutputRefused, match="another process is at work"):
        opened(tmp_path, CONFIG)
    at_work.close()
    opened(tmp_path, CONFIG).close()


def test_the_whole_configuration_is_saved_and_a_part_of_it_may_change(tmp_path: Path) -> None:
    open_campaign(tmp_path, CampaignRecord(CONFIG, {"budget": 10})).close()
    open_campaign(tmp_path, CampaignRecord(CONFIG, {"budget": 20})).close()
    assert read_campaign(tmp_path) == CampaignRecord(CONFIG, {"budget": 20})
    saved = json.loads((tmp_path / "config.json").read_text())
    assert saved.items() >= {"folder format": FORMAT, **CONFIG, "budget": 20}.items()


def test_a_finding_with_values_that_are_not_finite_is_still_json_for_every_parser(tmp_path: Path) -> None:
    violation = Violation("nan", "nan:x", "x", {"scores": [1.0, float("nan")], "loss": float("-inf")})
    archive = opened(tmp_path, CONFIG)
    archive(record(1, findings=(Finding(violation, 1, 1, 1, batch_of(torch.rand(1, 9)), True),)))
    archive.release()
    (told,) = tmp_path.rglob("finding.json")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    details = json.loads(told.read_text(), parse_constant=refuse)["details"]
    assert details == {"scores": [1.0, "nan"], "loss": "-inf"}


def test_what_is_used_is_what_lies_there_also_after_the_log_was_emptied(tmp_path: Path) -> None:
    archive = opened(tmp_path, CONFIG)
    before = archive.used
    archive(record(1, findings=(finding(1),)))
    archive.conclude(so_far(1, 1.0))
    grown = sum(path.stat().st_size for path in (*tmp_path.rglob("*.npy"), *tmp_path.glob("findings/*/*.json")))
    lines = sum((tmp_path / name).stat().st_size for name in ("journal.jsonl", "coverage.jsonl"))
    assert archive.used == before + grown + lines
    archive.release()


@pytest.mark.parametrize("name", ["corpus", "findings", "quarantine"])
def test_a_file_where_a_folder_should_be_is_named(name: str, tmp_path: Path) -> None:
    opened(tmp_path, CONFIG).close()
    shutil.rmtree(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(OutputRefused, match=rf"{name}'; that is in the way: move it, or give another --out"):
        opened(tmp_path, CONFIG)


NO_FILE = r"\(it is a link or a folder: put a copy of the file there\): move it away, or give another --out"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, "'; that is in the way: move it, or give another --out") for name in ("status.json", "journal.jsonl")),
        ("findings.log", f" cannot be read {NO_FILE}"),
        ("lock", f" cannot be used {NO_FILE}"),
    ],
)
def test_a_folder_where_a_file_should_be_is_named(name: str, told: str, tmp_path: Path) -> None:
    opened(tmp_path, CONFIG).close()
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    with pytest.raises(OutputRefused, match=name + told):
        opened(tmp_path, CONFIG)


@pytest.mark.parametrize("name", ["run", "lock", "journal.jsonl", "findings.log"])
def test_a_full_disk_on_opening_is_a_failed_write(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any, *more: Any, **named: Any) -> Any:
            if Path(path).name == name:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return real(path, *more, **named)

        return called

    for place, call in ((Path, "open"), (Path, "mkdir"), (os, "open")):
        monkeypatch.setattr(place, call, failing(getattr(place, call)))
    with pytest.raises(WriteFailed, match="make room"):
        opened(tmp_path / "run", CONFIG)


def test_the_environment_tells_versions_and_machine_and_what_has_changed_is_warned_of(tmp_path: Path) -> None:
    opened(tmp_path, CONFIG).close()
    told = json.loads((tmp_path / "environment.json").read_text())
    assert {"torch", "safetensors", "faiss-cpu", "processor", "machine", "torch threads", "cuda"} <= told.keys()
    again = opened(tmp_path, CONFIG)
    again.close()
    assert not again.quarantine.warnings
    (tmp_path / "environment.json").write_text(json.dumps({**told, "torch": "1.0", "machine": "vax"}))
    other = opened(tmp_path, CONFIG)
    other.close()
    torch_line, machine_line = other.quarantine.warnings
    assert torch_line == (
        f"the campaign was begun with torch 1.0, this is {told['torch']}: it goes on, but need not come to the same end"
    )
    assert "begun with machine vax" in machine_line


@pytest.mark.parametrize("content", ["", "[]", "{", '{"torch": 5}', "[" * 100_000])
def test_an_environment_that_cannot_be_read_stops_nothing(content: str, tmp_path: Path) -> None:
    opened(tmp_path, CONFIG).close()
    (tmp_path / "environment.json").write_text(content)
    archive = opened(tmp_path, CONFIG)
    archive.close()
    assert not archive.quarantine.warnings


class Slow:
    """Writes that take their time, so that whoever does not wait is caught."""

    def __init__(self, real: Callable[..., int]):
        self._real = real

    def __call__(self, *args: Any) -> int:
        time.sleep(0.05)
        return self._real(*args)


@pytest.mark.parametrize("failing", [False, True])
def test_nobody_writes_in_the_folder_once_the_block_of_a_script_is_left(
    failing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "write_whole", Slow(archives.write_whole))
    with suppress(KeyError), open_archive(tmp_path / "run", CONFIG, pictures=False) as archive:
        for step in range(4):
            archive(record(step, mutants(), (finding(step, step),)))
        if failing:
            raise KeyError("a script's own mistake")
    shutil.rmtree(tmp_path / "run")
    time.sleep(0.1)
    assert not (tmp_path / "run").exists()


def test_a_write_that_failed_is_raised_where_the_block_of_a_script_ends(tmp_path: Path) -> None:
    with pytest.raises(WriteFailed), open_archive(tmp_path / "run", CONFIG) as archive:
        shutil.rmtree(tmp_path / "run" / "corpus")
        archive(record(0, SEEDS.as_candidates()))
    open_campaign(tmp_path / "run", CampaignRecord(CONFIG)).release()  # nobody holds it any more

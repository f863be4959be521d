"""Every input that violates a property is kept with its bug, and comes back to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from fragile_campaign import SEEDS, Fragile, Run, in_tenths
from jostle.campaign import Budget
from jostle.digests import digest_of
from jostle.errors import OutputRefused
from jostle.oracles.labels import LabelKept
from jostle.records import NO_LABEL, Failures
from jostle.step_records import StepRecord
from jostle.storage.archive import open_archive
from jostle.storage.failing_files import INPUTS, NUMBERS, TEXT, digest_of_failing, encode_failing, failing_path
from jostle.storage.failing_tests import FailingTests, read_failing
from jostle.storage.history import read_history
from jostle.storage.journal import JOURNAL, JournalLine, encode_line
from making import seeds_of

BUDGET = Budget(executions=1000)


def campaign(folder: Path, **choices: object) -> Run:
    with open_archive(folder, {}, pictures=False) as archive:
        run = Run(BUDGET, listeners=(archive,), **choices).to_the_end()  # type: ignore[arg-type]
        archive.conclude(run.summary)
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("campaign")
    campaign(place, saved=in_tenths)
    return place


def failing_of(inputs: Tensor, *kinds: str) -> Failures:
    """All of these inputs, each violating every one of these kinds."""
    rows = seeds_of(inputs, torch.arange(len(inputs))).as_candidates()
    count = len(inputs) * len(kinds)
    return Failures(
        rows,
        torch.arange(len(inputs)),
        torch.arange(len(inputs)).repeat(len(kinds)),
        tuple(kind for kind in kinds for _ in range(len(inputs))),
        torch.arange(count),
        torch.full((count,), 7),
        torch.ones(count, dtype=torch.bool),
    )


def test_every_violating_input_is_kept_with_its_bug(folder: Path) -> None:
    run, tests = Run(BUDGET, saved=in_tenths).to_the_end(), read_failing(folder)
    summary = run.summary
    for kind in ("nan", "crash"):
        of_kind = torch.tensor([one == kind for one in tests.kinds])
        assert int((of_kind & tests.confirmed).sum()) == summary.violations[kind] > 0
        assert int((of_kind & ~tests.confirmed).sum()) == summary.unconfirmed[kind] > 0
    found = {(one.violation.kind, one.bug) for record in run.records for one in record.findings}
    assert found == set(zip(tests.kinds, tests.bugs.tolist(), strict=True))
    assert len(tests) == summary.failing == summary.failing_kept == summary.as_json()["failing_tests_kept"]


def test_kept_inputs_fail_when_they_run_again(folder: Path) -> None:
    tests = read_failing(folder)
    infinite = torch.tensor([kind == "nan" for kind in tests.kinds])
    assert not Fragile()(tests.inputs[infinite]).isfinite().all(1).any()
    assert (tests.inputs[~infinite][:, 1] > 0.97).all()
    assert (tests.answers == NO_LABEL).all()  # neither an infinite score nor an exception says a class
    assert torch.equal(tests.labels, SEEDS.labels[tests.roots])
    assert all(str(mutation) for mutation in tests.mutations) and (tests.steps > 0).all()


def test_the_answer_is_the_class_that_the_model_gave(tmp_path: Path) -> None:
    run = campaign(tmp_path, oracles=(LabelKept,), seeds=seeds_of(SEEDS.inputs, torch.tensor([1, 0] * 6)))
    tests = read_failing(tmp_path)
    sound = (tests.inputs[:, 0] <= 0.9) & (tests.inputs[:, 1] <= 0.97)
    assert sound.any() and run.summary.failing_kept == len(tests)
    assert torch.equal(tests.answers[sound], Fragile()(tests.inputs[sound]).argmax(1))


class OneScore(nn.Module):
    """One number for each input, as models give that say yes or no; infinite where the first value exceeds 0.9."""

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.where(inputs[:, 0] > 0.9, torch.inf, inputs.sum(1))


def test_answers_are_read_of_a_model_that_gives_one_number_for_each_input(tmp_path: Path) -> None:
    campaign(tmp_path, module=OneScore(), classes=lambda outputs: (outputs > 1).long())
    tests = read_failing(tmp_path)
    assert set(tests.kinds) == {"nan"} and (tests.answers == NO_LABEL).all()


ARRAYS = {
    "images": torch.rand(3, 1, 4, 4),
    "doubles": torch.rand(3, 5, dtype=torch.float64),
    "tokens": torch.randint(0, 30_000, (3, 6)),
    "bytes": torch.randint(0, 256, (3, 4), dtype=torch.uint8),
    "not finite": torch.tensor([[torch.nan, torch.inf], [-torch.inf, -0.0], [1e-45, 3.4e38]]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_inputs_come_back_to_the_bit_whatever_they_are(name: str, tmp_path: Path) -> None:
    inputs = ARRAYS[name]
    tests = written(tmp_path, failing_of(inputs, "nan"))
    assert tests.inputs.dtype is inputs.dtype and tests.inputs.shape == inputs.shape
    assert tests.inputs.numpy().tobytes() == inputs.numpy().tobytes()


def written(folder: Path, *steps: Failures) -> FailingTests:
    """What is read of a campaign whose steps failed so."""
    record = Run(Budget(executions=12)).to_the_end().records[0]
    with open_archive(folder, {}, pictures=False) as archive:
        for number, failing in enumerate(steps):
            archive(StepRecord(**{**vars(record), "step": number, "failing": failing}))
    return read_failing(folder)


def test_an_input_that_violates_several_properties_is_stored_once(tmp_path: Path) -> None:
    inputs = torch.rand(3, 100)
    both, one = failing_of(inputs, "nan", "flip"), failing_of(inputs, "nan")
    assert len(encode_failing(both)) < len(encode_failing(one)) + 1000 < 2 * inputs.nbytes + 1000
    tests = written(tmp_path, both, one)
    assert tests.kinds == ("nan",) * 3 + ("flip",) * 3 + ("nan",) * 3
    assert torch.equal(tests.inputs, torch.cat([inputs] * 3))
    assert torch.equal(tests.once_each().inputs, torch.cat([inputs] * 2))
    assert tests.once_each().steps.tolist() == [0, 0, 0, 1, 1, 1]


def test_the_same_failing_tests_give_the_same_file() -> None:
    failing = failing_of(torch.rand(5, 3), "nan", "flip")
    assert len({encode_failing(failing) for _ in range(20)}) == 1
    assert digest_of_failing(failing) != digest_of_failing(failing.first(9)) != ""


@pytest.mark.parametrize("most", [0, 20])
def test_so_many_are_kept_the_first_and_how_many_were_not_is_known(most: int, folder: Path, tmp_path: Path) -> None:
    run, every = campaign(tmp_path, saved=in_tenths, keep_failing=most), read_failing(folder)
    some = read_failing(tmp_path)
    assert len(some) == most == run.summary.failing_kept < run.summary.failing == len(every)
    assert torch.equal(some.bugs, every.bugs[:most]) and some.kinds == every.kinds[:most]
    if most:
        assert torch.equal(some.inputs, every.inputs[:most])
    assert run.journal()[0].violations == {} and run.summary.violations["nan"] > 0


def test_the_bound_holds_over_an_interruption(tmp_path: Path) -> None:
    for executions in (12 + 16 * 40, 12 + 16 * 80):
        with open_archive(tmp_path, {}, pictures=False) as archive:
            run = Run(Budget(executions=executions), listeners=(archive,), keep_failing=12)
            run.to_the_end(read_history(tmp_path, SEEDS))
    assert run.summary.failing > 12 == run.summary.failing_kept == len(read_failing(tmp_path))


def test_a_folder_without_any_holds_none(tmp_path: Path) -> None:
    assert len(read_failing(tmp_path)) == 0 == len(read_failing(tmp_path).once_each())


def test_files_of_a_step_that_was_cut_off_are_removed(tmp_path: Path) -> None:
    campaign(tmp_path)
    journal = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    last = max(int(path.stem) for path in (tmp_path / "failing").iterdir())
    (tmp_path / "journal.jsonl").write_bytes(b"".join(journal[:last]) + journal[last][:30])
    for later in (tmp_path / "corpus").iterdir():
        if int(later.stem) > last:
            later.unlink()
    (tmp_path / "failing" / ".00000099.safetensors.tmp").write_bytes(b"half")
    with open_archive(tmp_path, {}, pictures=False) as archive:
        assert read_history(tmp_path, SEEDS, archive.quarantine) is not None
    assert not failing_path(tmp_path, last).exists() and not archive.quarantine.warnings
    assert not list((tmp_path / "failing").glob(".*"))


def test_damage_is_told_of_with_what_mends_it(tmp_path: Path) -> None:
    campaign(tmp_path)
    path = next((tmp_path / "failing").iterdir())
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(OutputRefused, match=f"step {int(path.stem)}: let the jostle fuzz command"):
        read_failing(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short", encode_failing(failing_of(torch.rand(3, 2), "flip"))])
def test_a_file_that_is_not_the_one_that_was_written_is_refused(content: bytes, tmp_path: Path) -> None:
    written(tmp_path, failing_of(torch.rand(3, 2), "nan"))
    failing_path(tmp_path, 0).write_bytes(content)
    with pytest.raises(OutputRefused, match="damaged at step 0"):
        read_failing(tmp_path)


def test_inputs_of_another_shape_than_the_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="change their shape at step 1"):
        written(tmp_path, failing_of(torch.rand(3, 2), "nan"), failing_of(torch.rand(3, 4), "nan"))


def test_a_file_that_names_one_input_without_end_is_damaged(tmp_path: Path) -> None:
    """Its copies would fill the memory: a megabyte of numbers asks for a terabyte of inputs."""
    rows = 100_000
    numbers = {name: torch.zeros(rows, dtype=dtype) for name, dtype in NUMBERS.items()}
    text = torch.frombuffer(bytearray(b'{"kinds": ["flip"], "mutations": ["noise"]}'), dtype=torch.uint8)
    arrays = {INPUTS: torch.zeros(1, 3, 1000, 1000), **numbers, TEXT: text}
    failing_path(tmp_path, 0).parent.mkdir()
    failing_path(tmp_path, 0).write_bytes(safetensors.torch.save(arrays))
    digest = digest_of(*arrays.values())
    line = JournalLine(0, 1, 1, 0, "", (), (), (), {"flip": rows}, {}, failing=rows, failing_digest=digest)
    (tmp_path / JOURNAL).write_bytes(encode_line(line))
    with pytest.raises(OutputRefused, match="damaged at step 0"):
        read_failing(tmp_path)

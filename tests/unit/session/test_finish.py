"""When the budget is spent: findings are minimised, and what the model says of each is noted."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.commands.tmin import is_open
from jostle.errors import OutputRefused
from jostle.inputs.distances import as_image_file, relative_distances
from jostle.inputs.geometry import place
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.interfaces import Target
from jostle.mutators.transforms import rotation
from jostle.options.resources import BatchOptions
from jostle.options.schema import Given, Settings
from jostle.records import Candidates, Trace
from jostle.session.assemble import assemble
from jostle.session.finish import InputFinisher, Worked
from jostle.session.session import Session
from jostle.storage.ancestry import Ancestry
from jostle.storage.finding_record import (
    RECORD,
    Answer,
    ChangeSizes,
    Confirmation,
    FinishedArray,
    encode_record,
    record_as_json,
)
from jostle.storage.findings import SavedFinding
from jostle.subjects.torch_target import TorchTarget
from jostle.zoo import lenet1, lenet5, mnist_sample
from making import batch_of, options, saved_findings, unhurried

FINISHED = {"change", "minimised", "steps", "answers", "location"}  # what finishing adds to finding.json
NETS = """
import numpy as np
import torch
from torch import nn
from jostle.zoo import lenet1, mnist_sample

class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.digits = lenet1()
    def forward(self, images):
        if (images[:, 0, 0, 0] > 0.1).any():
            raise ArithmeticError("the corner is lit")
        return self.digits(images)

class Rooted(nn.Module):
    "The derivative is not finite where the first value is above 0.7."
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    def forward(self, rows):
        first = rows[:, :1]
        return self.net(rows) + first + ((0.7 - first) * (first < 0.7)).sqrt() * 1e-3 * torch.tensor([1.0, 0.0, 0.0])

DIGITS = lenet1()

def in_numpy(images: np.ndarray):
    with torch.no_grad():
        return DIGITS(torch.from_numpy(images)).numpy()

def rows():
    some = torch.rand(12, 6, generator=torch.Generator().manual_seed(0))
    some[:, 0] = 0.65
    return some
"""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    images, labels = mnist_sample()
    np.savez(folder / "digits.npz", x=images[:12].numpy(), y=labels[:12].numpy())
    (folder / "nets.py").write_text(NETS)
    return folder


def session_options(workshop: Path, out: Path, **choices: Any) -> Given:
    usual: dict[str, Any] = {"model": "jostle.zoo:lenet1", "seeds": str(workshop / "digits.npz"), "recipe": "dlfuzz"}
    return options(**{"rounds": 1, "executions": 1000, "out": str(out), **usual, **choices})


def unfinished_session(workshop: Path, out: Path, **choices: Any) -> Session:
    """A campaign that has run and is not finished yet."""
    session = assemble(session_options(workshop, out, **choices))
    session.archive.conclude(session.campaign.run(listeners=[session.archive]))
    return session


def run(workshop: Path, out: Path, **choices: Any) -> InputFinisher:
    """What finishes the findings of a campaign that has run."""
    return unhurried(unfinished_session(workshop, out, **choices))


@pytest.fixture(scope="module")
def unfinished(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[InputFinisher, Path]:
    out = tmp_path_factory.mktemp("runs") / "unfinished"
    return run(workshop, out), out


@pytest.fixture(scope="module")
def finished(unfinished: tuple[InputFinisher, Path], tmp_path_factory: pytest.TempPathFactory) -> list[SavedFinding]:
    finisher, out = unfinished
    copy = Path(shutil.copytree(out, tmp_path_factory.mktemp("runs") / "finished"))
    replace(finisher, folder=copy).finish()
    return saved_findings(copy)


@pytest.fixture
def copied(unfinished: tuple[InputFinisher, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(unfinished[1], tmp_path / "copied"))


def minimised(finding: SavedFinding) -> Tensor:
    return torch.from_numpy(np.load(finding.folder / "minimised.npy"))


def finished_array(finding: SavedFinding) -> FinishedArray:
    assert isinstance(finding.record.finished, FinishedArray)
    return finding.record.finished


def minimised_size(finding: SavedFinding) -> float:
    sizes = finished_array(finding).minimised
    assert sizes is not None
    return sizes.euclidean


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_finding_is_told_of_in_full(finished: list[SavedFinding]) -> None:
    assert len(finished) > 5
    for finding in finished:
        change = finding.input - finding.reference
        known = finished_array(finding)
        assert known.change == ChangeSizes(
            changed=int((change != 0).sum()),
            euclidean=pytest.approx(float(change.norm())),
            relative=pytest.approx(float(change.norm() / finding.reference.norm())),
            largest=pytest.approx(float(change.abs().max())),
        )
        small = minimised(finding) - finding.reference
        assert known.minimised is not None and known.minimised.euclidean == pytest.approx(float(small.norm()))


def test_what_the_model_answers_is_noted_with_how_sure_it_is(finished: list[SavedFinding]) -> None:
    for finding in finished:
        arrays = {"reference": finding.reference, "input": finding.input, "minimised": minimised(finding)}
        answers = finished_array(finding).answers
        assert answers.keys() == {"seed", *arrays}
        for name, array in arrays.items():
            surest = TorchTarget(lenet1()).predict(array[None]).softmax(1).max(1)
            (answer,) = answers[name].values()
            assert answer == Answer(int(surest.indices), pytest.approx(float(surest.values), abs=1e-4))
        labels = {name: said["model"].label for name, said in answers.items()}
        assert labels["reference"] == finding.record.label_change.label
        assert labels["input"] == labels["minimised"] == finding.record.label_change.taken_for


def test_what_was_known_of_a_finding_stays_known(
    finished: list[SavedFinding], unfinished: tuple[InputFinisher, Path]
) -> None:
    before = saved_findings(unfinished[1])
    for old, new in zip(before, finished, strict=True):
        assert replace(new.record, finished=None) == old.record
        assert record_as_json(new.record).keys() - record_as_json(old.record).keys() == FINISHED
        assert torch.equal(old.input, new.input) and torch.equal(old.reference, new.reference)


def test_minimised_findings_are_nearer_and_fit_into_image_files(finished: list[SavedFinding]) -> None:
    before = relative_distances(
        *(torch.stack([getattr(one, name) for one in finished]) for name in ("input", "reference"))
    )
    small = torch.stack([minimised(one) for one in finished])
    after = relative_distances(small, torch.stack([one.reference for one in finished]))
    assert (after <= before).all() and float(after.median()) < 0.9 * float(before.median())
    assert torch.equal(as_image_file(small, 0, 1), small)
    for one, array in zip(finished, small, strict=True):
        for name, expected in (("minimised", array), ("input", one.input)):
            read = load_seeds(str(one.folder / f"{name}.png"), SeedForm())
            torch.testing.assert_close(read.inputs[0], expected, rtol=0, atol=1e-6)


def test_finishing_twice_is_finishing_once(unfinished: tuple[InputFinisher, Path], copied: Path) -> None:
    finisher, _ = unfinished
    replace(finisher, folder=copied).finish()
    before = contents(copied)
    worked_on: list[int] = []
    replace(finisher, folder=copied).finish(lambda parts, count: worked_on.append(count) or parts)  # type: ignore[func-returns-value]
    assert worked_on == [0]
    assert contents(copied) == before


def test_only_findings_that_are_not_finished_are_worked_on(
    unfinished: tuple[InputFinisher, Path], copied: Path
) -> None:
    finisher, _ = unfinished
    replace(finisher, folder=copied).finish()
    first, *others = saved_findings(copied)
    whole = (first.folder / "finding.json").read_text()
    (first.folder / RECORD).write_bytes(encode_record(record_as_json(replace(first.record, finished=None))))
    before = contents(others[0].folder)
    replace(finisher, folder=copied).finish()
    assert contents(others[0].folder) == before
    again = json.loads((first.folder / "finding.json").read_text())
    assert again["minimised"]["L2"] == pytest.approx(json.loads(whole)["minimised"]["L2"], rel=0.05)


def test_a_batch_of_findings_is_finished_as_its_findings_alone(
    unfinished: tuple[InputFinisher, Path], copied: Path, finished: list[SavedFinding]
) -> None:
    finisher, _ = unfinished
    for number, finding in enumerate(saved_findings(copied)):
        if number >= 4:
            shutil.rmtree(finding.folder)
            continue
        only = copied.parent / str(number)
        shutil.copytree(finding.folder, only / "findings" / finding.folder.name)
        replace(finisher, folder=only).finish()
    for number, together in enumerate(finished[:4]):
        (alone,) = saved_findings(copied.parent / str(number))
        assert minimised_size(alone) == pytest.approx(minimised_size(together), rel=0.1)


def test_without_minimising_findings_are_only_measured(workshop: Path, tmp_path: Path) -> None:
    done = run(workshop, tmp_path / "out", minimise=False, as_images=False)
    done.finish()
    findings = saved_findings(tmp_path / "out")
    assert findings
    for finding in findings:
        known = finished_array(finding)
        assert known.minimised is None and known.answers.keys() == {"seed", "reference", "input"}
        assert not (finding.folder / "minimised.npy").exists() and not list(finding.folder.glob("*.png"))


def test_a_model_without_gradients_has_its_findings_minimised_too(workshop: Path, tmp_path: Path) -> None:
    choices: dict[str, Any] = {"recipe": "random", "minimise": True, "oracle": ("flip",), "rounds": None}
    choices |= {"sigma": 0.4, "radius": 1.0}
    done = run(workshop, tmp_path / "out", model=f"{workshop / 'nets.py'}:in_numpy", **choices)
    done.finish()
    findings = saved_findings(tmp_path / "out")
    mutants = [finding for finding in findings if finished_array(finding).change.euclidean > 0]
    assert mutants
    for finding in mutants:
        assert minimised_size(finding) <= finished_array(finding).change.euclidean
        assert int(lenet1()(minimised(finding)[None]).argmax()) == finding.record.label_change.taken_for
    assert any(minimised_size(one) < 0.8 * finished_array(one).change.euclidean for one in mutants)


def test_an_input_that_crashes_the_model_is_minimised_and_has_no_answer(workshop: Path, tmp_path: Path) -> None:
    choices: dict[str, Any] = {"recipe": "random", "minimise": True, "sigma": 0.3, "radius": 0.5, "rounds": None}
    choices |= {"executions": 300}
    done = run(workshop, tmp_path / "out", model=f"{workshop / 'nets.py'}:Picky", **choices)
    done.finish()
    (crash,) = (one for one in saved_findings(tmp_path / "out") if one.record.kind == "crash")
    known = finished_array(crash)
    assert known.change.euclidean > minimised_size(crash) > 0
    assert float(minimised(crash)[0, 0, 0]) > 0.1, "else it would not crash"
    assert known.answers["input"] == known.answers["minimised"] == {} and known.location is None
    assert known.answers["reference"]["model"].label == mnist_sample()[1][crash.record.root]


def gradient_is_finite(done: InputFinisher, input: Tensor) -> bool:
    passed = done.prepared.model.gradients.linearise(input[None])
    return bool(passed.pull(passed.scores, {}).isfinite().all())


@pytest.fixture
def without_gradient(workshop: Path, tmp_path: Path) -> InputFinisher:
    """A campaign that came upon an input whose gradient is not finite, though that of its seed is."""
    nets = workshop / "nets.py"
    choices: dict[str, Any] = {"model": f"{nets}:Rooted", "seeds": f"{nets}:rows", "others": 2, "neurons": 0}
    choices |= {"range": (0.0, 1.0)}
    choices |= {"mutator": ("noise", "gradient"), "coverage": ("nearest",), "scheduler": "uniform", "rounds": None}
    return run(workshop, tmp_path / "out", oracle=("nan",), batch=32, threshold=0.01, **choices)


def test_the_input_that_is_stored_has_the_gradient_that_is_not_finite(without_gradient: InputFinisher) -> None:
    (found,) = saved_findings(without_gradient.folder)
    assert found.record.fingerprint == "nan:gradient"
    assert gradient_is_finite(without_gradient, found.reference)
    assert not gradient_is_finite(without_gradient, found.input)


def test_what_only_a_gradient_shows_is_measured_and_not_minimised(without_gradient: InputFinisher) -> None:
    """No forward pass could tell whether what is smaller still shows it."""
    without_gradient.finish()
    (found,) = saved_findings(without_gradient.folder)
    known = finished_array(found)
    assert known.change.euclidean > 0 and known.minimised is None
    assert not (found.folder / "minimised.npy").exists()


def test_a_finding_of_a_seed_itself_stays_where_it_is(workshop: Path, tmp_path: Path) -> None:
    images, labels = mnist_sample()
    wrong = (lenet1()(images).argmax(1) != labels).nonzero().flatten()[:2]
    some = torch.cat([wrong, torch.arange(2)])
    np.savez(tmp_path / "wrong.npz", x=images[some].numpy(), y=labels[some].numpy())
    done = run(workshop, tmp_path / "out", seeds=str(tmp_path / "wrong.npz"), executions=4, seeds_count=True)
    done.finish()
    findings = saved_findings(tmp_path / "out")
    assert len(findings) == 2
    for finding in findings:
        assert finished_array(finding).change.euclidean == minimised_size(finding) == 0
        assert torch.equal(minimised(finding), finding.input)


def test_a_finding_of_a_seed_that_does_not_exist_is_refused(
    unfinished: tuple[InputFinisher, Path], copied: Path
) -> None:
    finding = saved_findings(copied)[0]
    (finding.folder / RECORD).write_bytes(encode_record(record_as_json(replace(finding.record, root=10**6))))
    with pytest.raises(OutputRefused, match="is not of these seeds"):
        replace(unfinished[0], folder=copied).finish()


def test_pictures_of_finished_findings_show_what_was_minimised(workshop: Path, tmp_path: Path) -> None:
    """Also where the campaign was closed before, as an interruption does."""
    for out, closed_before in (("out", True), ("at once", False)):
        session = unfinished_session(workshop, tmp_path / out)
        if closed_before:
            session.archive.close()
            session = assemble(session_options(workshop, tmp_path / out))
        unhurried(session).finish()
        session.archive.close()
    name = saved_findings(tmp_path / "out")[0].folder.name
    one, other = (tmp_path / out / "findings" / name / "picture.png" for out in ("out", "at once"))
    assert one.read_bytes() == other.read_bytes()


def hidden(finding: SavedFinding) -> Tensor:
    return torch.from_numpy(np.load(finding.folder / "hidden.npy"))


def test_where_an_input_lies_among_the_seeds_is_noted(
    finished: list[SavedFinding], unfinished: tuple[InputFinisher, Path]
) -> None:
    finisher, _ = unfinished
    target, images = finisher.target, finisher.seeds.inputs
    seeds = target.run(finisher.seeds.as_candidates())
    names = list(seeds.activations)
    layer = names[names.index(finisher.prepared.model.novelty_layers[-1]) - 1]
    own = seeds.activations[layer]
    unit = torch.cdist(own, own).fill_diagonal_(torch.inf).amin(1).median()
    for finding in finished:
        trace = target.run(batch_of(finding.input[None], references=images[:1]))
        torch.testing.assert_close(hidden(finding), trace.activations[layer][0] / unit, rtol=1e-3, atol=1e-3)
        assert hidden(finding).dtype is torch.float32


def test_a_label_departs_in_a_layer_of_the_model(finished: list[SavedFinding]) -> None:
    layers = {name for name, _ in lenet1().named_modules()}
    for finding in finished:
        location = finished_array(finding).location
        assert location is not None and location.layer in layers and location.why == "departs" and location.high > 0


TURNED: dict[str, Any] = {"recipe": "deephunter", "rounds": None, "model": "jostle.zoo:lenet5", "minimise": True}
TURNED |= {"transforms": ("rotation=-50:50", "brightness"), "oracle": ("flip",), "executions": 1500}


@pytest.fixture(scope="module")
def turned(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> list[SavedFinding]:
    """Digits that were turned until they were taken for others."""
    out = tmp_path_factory.mktemp("runs") / "turned"
    run(workshop, out, **TURNED).finish()
    return saved_findings(out)


def test_an_image_is_turned_no_farther_than_it_must_be(turned: list[SavedFinding]) -> None:
    """What the steps say, makes the minimised input from the seed again."""
    less = 0
    for finding in turned:
        steps = finished_array(finding).steps
        if steps is None or len(steps) > 1 or not steps[0].operations[0].startswith("rotation"):
            continue
        angle = float(steps[0].operations[0].split()[1])
        seed, placement = (torch.from_numpy(np.load(finding.folder / f"{name}.npy")) for name in ("seed", "placement"))
        assert finding.record.mutation.operations[0].startswith("rotation") or finding.record.parent >= 0
        if finding.record.mutation.operations[0].startswith("rotation"):
            assert abs(angle) <= abs(float(finding.record.mutation.operations[0].split()[1]))
        made = place(seed[None], rotation(torch.tensor([angle]), torch.Generator(), 1.0))[0]
        exact = place(seed[None], placement[None])[0]  # where it was not turned less far, its text has three digits
        small = minimised(finding)
        assert torch.allclose(small, made, atol=1e-5) or torch.allclose(small, exact, atol=1e-5)
        if torch.allclose(small, made, atol=1e-5):
            less += 1
            reference = np.load(finding.folder / "minimised-reference.npy")
            torch.testing.assert_close(torch.from_numpy(reference), made, rtol=0, atol=1e-5)
        assert int(lenet5()(small[None]).argmax()) == finding.record.label_change.taken_for
    assert less > 2


def test_steps_that_are_not_needed_are_left_out(turned: list[SavedFinding], workshop: Path, tmp_path: Path) -> None:
    ancestry = Ancestry.of(turned[0].folder.parent.parent)
    pairs = [(ancestry.steps(one.record), finished_array(one).steps) for one in turned]
    told = [(before, after) for before, after in pairs if after is not None]
    assert told and all(0 < len(after) <= len(before) for before, after in told)
    names = [([step.operations[0].split()[0] for step in way] for way in pair) for pair in told]
    for before, after in names:
        rest = iter(before)
        assert all(name in rest for name in after), "what is left stands in the same order"


def test_when_the_time_is_over_findings_are_finished_but_not_minimised(workshop: Path, tmp_path: Path) -> None:
    done = replace(run(workshop, tmp_path / "out", finishing="0.001s"), clock=TickingClock())
    done.finish()
    findings = saved_findings(tmp_path / "out")
    assert findings and all(finished_array(one).minimised is None for one in findings)
    assert all(finished_array(one).answers["input"] for one in findings)
    (remark,) = done.remarks
    assert f"{len(findings)} of {len(findings)} findings could not be minimised" in remark and "jostle tmin" in remark


@dataclass
class TickingClock:
    """Goes on by a second each time that somebody looks at it."""

    seconds: float = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


def test_findings_that_the_time_cut_off_are_kept_smaller_and_taken_up_again(
    unfinished: tuple[InputFinisher, Path], copied: Path, finished: list[SavedFinding]
) -> None:
    finisher = replace(unfinished[0], folder=copied, clock=TickingClock(), remarks=[])
    finisher.finish()  # 60 s pass after some of the searches
    cut = saved_findings(copied)
    for finding in cut:
        known = finished_array(finding)
        assert known.cut_off and not known.small and is_open(finding.record)
        assert minimised_size(finding) <= known.change.euclidean
        said = known.answers["minimised"]["model"].label
        assert said == finding.record.label_change.taken_for, "what is kept shows the bug"
    assert any(minimised_size(one) < finished_array(one).change.euclidean for one in cut)
    assert f"{len(cut)} of {len(cut)} findings could not be minimised to the end" in finisher.remarks[0]
    finisher = replace(finisher, clock=lambda: 0.0)
    assert finisher.finish_these([(one.folder, one.record) for one in cut]) == Worked(len(cut), 0)
    for one, whole in zip(saved_findings(copied), finished, strict=True):
        assert not is_open(one.record) and minimised_size(one) == pytest.approx(minimised_size(whole), rel=0.05)


def test_less_time_than_before_loses_nothing(unfinished: tuple[InputFinisher, Path], copied: Path) -> None:
    finisher = replace(unfinished[0], folder=copied, clock=TickingClock(), remarks=[])
    finisher.finish()
    before, cut = contents(copied / "findings"), saved_findings(copied)
    again = replace(finisher, clock=TickingClock(), prepared=replace(finisher.prepared, settings=hurried(finisher)))
    assert again.finish_these([(one.folder, one.record) for one in cut]) == Worked(len(cut), len(cut))
    assert contents(copied / "findings") == before


def test_finishing_runs_no_more_inputs_at_once_than_the_search(
    unfinished: tuple[InputFinisher, Path], copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finisher = unfinished[0]
    sizes: list[int] = []
    target, count = finisher.target, len(saved_findings(copied))
    run_whole = type(target).run

    def noted(self: Any, batch: Candidates, *more: Any, **named: Any) -> Trace:
        sizes.append(len(batch))
        return run_whole(self, batch, *more, **named)

    monkeypatch.setattr(type(target), "run", noted)
    settings = finisher.settings.over(replace(finisher.settings[BatchOptions], batch=4))
    prepared = replace(finisher.prepared, settings=settings)
    replace(finisher, folder=copied, prepared=prepared, afresh=lambda: nullcontext(target)).finish()
    assert max(sizes) == 4 < count
    assert {finished_array(one).confirmation for one in saved_findings(copied)} == {Confirmation(4, 4)}


@dataclass
class SlowTarget:
    """Takes a second for each batch."""

    target: Target
    seconds: float = 0.0

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        self.seconds += 1
        return self.target.run(batch, watched)


def test_confirming_leaves_half_of_the_time_for_minimising(
    unfinished: tuple[InputFinisher, Path], copied: Path
) -> None:
    finisher, count = unfinished[0], len(saved_findings(copied))
    settings = finisher.settings.over(replace(finisher.options, finishing=2.0 * count))  # each runs more often
    prepared = replace(finisher.prepared, settings=settings)
    slow = SlowTarget(finisher.target)
    again = replace(finisher, folder=copied, prepared=prepared, afresh=lambda: nullcontext(slow), remarks=[])
    replace(again, clock=lambda: slow.seconds).finish()
    assert count <= slow.seconds <= count + 1
    assert all(finished_array(one).minimised is not None for one in saved_findings(copied))


def hurried(finisher: InputFinisher) -> Settings:
    """The same settings, with no time to speak of."""
    return finisher.settings.over(replace(finisher.options, finishing=0.5))


def test_what_is_about_to_be_done_is_said_with_how_long_it_may_take(
    unfinished: tuple[InputFinisher, Path], copied: Path
) -> None:
    finisher = replace(unfinished[0], folder=copied)
    count = len(saved_findings(copied))
    assert finisher.outlook() == (
        f"{count} findings: how large, what the model says, where it begins; minimised for at most 60 s "
        f"(not counting answers and pictures)"
    )
    confirming = replace(finisher, afresh=lambda: nullcontext(finisher.target)).outlook_on(1)
    assert confirming.startswith("1 finding: ") and "not counting the start of that process" in confirming
    of_object = replace(finisher, afresh=lambda: nullcontext(finisher.target), same_process=True).outlook_on(1)
    assert "; run again and minimised for" in of_object and "process" not in of_object
    finisher.finish()
    assert finisher.outlook() == ""


def test_finishing_stops_when_it_is_asked_to_and_goes_on_where_it_was(workshop: Path, tmp_path: Path) -> None:
    choices: dict[str, Any] = {"recipe": "random", "sigma": 0.6, "radius": 1.0, "rounds": None, "executions": 300}
    done = run(workshop, tmp_path / "out", model=f"{workshop / 'nets.py'}:Picky", **choices)
    count, answers = len(saved_findings(tmp_path / "out")), iter([False, False, True])
    worked = done.finish(stopped=lambda: next(answers))
    first = [one for one in saved_findings(tmp_path / "out") if one.record.finished is not None]
    assert 0 < len(first) == worked < count and len({one.record.kind for one in first}) == 1
    before = contents(first[0].folder)
    assert done.finish() == count - worked
    assert all(one.record.finished is not None for one in saved_findings(tmp_path / "out"))
    assert contents(first[0].folder) == before


KINDS = """
import torch
from torch import nn

class Lit(nn.Module):
    "NaN where the first value is above 0.6."
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.root, self.scores = nn.Linear(6, 5), Root(), nn.Linear(5, 3)
        nn.init.eye_(self.first.weight), nn.init.zeros_(self.first.bias)
        self.first.weight.data[0, 0], self.first.bias.data[0] = -1.0, 0.6
        self.first.bias.data[1:] = 1.0
    def forward(self, rows):
        return self.scores(self.root(self.first(rows)))

class Root(nn.Module):
    def forward(self, rows):
        return rows.sqrt()

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.scores = nn.Linear(6, 3)
    def forward(self, rows):
        return self.scores(rows)

class Other(Plain):
    "The twin of the one before, which disagrees where the second value is above 0.7."
    def forward(self, rows):
        return super().forward(rows) + torch.where(rows[:, 1:2] > 0.7, torch.tensor([9.0, -9.0, 0.0]), torch.zeros(3))

def rows():
    return torch.rand(12, 6, generator=torch.Generator().manual_seed(0)) * 0.5

def bright(element):
    return element.input[..., 2] > 0.8

def dark(element):
    return element.input[..., 3] < 0.01
"""


@pytest.mark.parametrize(
    ("choices", "shows"),
    [
        ({"model": "kinds.py:Lit", "oracle": ("nan",)}, lambda input, record: float(input[0]) > 0.6),
        (
            {"model": "kinds.py:Plain", "twin": ("kinds.py:Other",), "oracle": ("agree",)},
            lambda input, record: float(input[1]) > 0.7,
        ),
        (
            {"model": "kinds.py:Plain", "oracle": ("kinds.py:bright", "kinds.py:dark")},
            lambda input, record: float(input[2]) > 0.8 if "bright" in record.fingerprint else float(input[3]) < 0.01,
        ),
    ],
    ids=["nan", "agree", "properties"],
)
@pytest.mark.parametrize("seed", range(2))
def test_findings_of_every_kind_are_minimised(
    choices: dict[str, Any], shows: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what shows the bug is left of what was changed, in plain values."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kinds.py").write_text(KINDS)
    usual: dict[str, Any] = {"recipe": "random", "seeds": "kinds.py:rows", "range": (0.0, 1.0), "sigma": 0.3}
    usual |= {"radius": 1.0, "executions": 400, "minimise": True, "out": "out", "seed": seed}
    session = assemble(options(**usual, **choices))
    session.archive.conclude(session.search())
    unhurried(session).finish()
    session.release()
    findings = [one for one in saved_findings(tmp_path / "out") if finished_array(one).change.changed > 1]
    assert len({one.record.fingerprint for one in findings}) >= (2 if len(choices["oracle"]) > 1 else 1)
    for finding in findings:
        known, small = finished_array(finding), minimised(finding)
        assert known.minimised is not None and shows(small, finding.record)
        assert known.minimised.changed < known.change.changed and minimised_size(finding) < known.change.euclidean
        changed = small[small != finding.reference].tolist()
        assert all(value == pytest.approx(float(f"{value:.3g}"), rel=1e-6) for value in changed), "few digits"


def test_what_went_into_the_first_layer_that_is_not_finite_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kinds.py").write_text(KINDS)
    usual: dict[str, Any] = {"recipe": "random", "seeds": "kinds.py:rows", "range": (0.0, 1.0), "sigma": 0.3}
    session = assemble(options(**usual, radius=1.0, executions=400, out="out", model="kinds.py:Lit", oracle=("nan",)))
    session.archive.conclude(session.search())
    unhurried(session).finish()
    session.release()
    (finding, *_) = saved_findings(tmp_path / "out")
    location = finished_array(finding).location
    assert location is not None and (location.layer, location.why) == ("root", "not finite")
    assert location.low == pytest.approx(0.6 - float(finding.input[0]), abs=1e-5) and location.low < 0
    assert location.high == pytest.approx(1 + float(finding.input[1:5].max()), abs=1e-5)

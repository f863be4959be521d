"""A model trained further on what a campaign found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from jostle.commands.retrain import Accuracy, Retraining, TrainedPair, TrainingOptions, fit, retrain
from jostle.commands.training_data import Labelled, among, split_data, split_failing
from jostle.errors import ModelRefused, OutputRefused, SeedsRefused, UsageError
from jostle.options.campaign import InputOptions
from jostle.options.schema import Given
from jostle.session.assemble import assemble
from jostle.storage.failing_tests import read_failing
from jostle.storage.finding_record import RECORD, encode_record, record_as_json
from jostle.subjects.registry import load as load_subject
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.torch_training import TorchTrainable, loss
from jostle.zoo import lenet1, mnist_sample
from making import forget_failing, options, run_session, saved_findings

SEEDS = 14
QUICK = TrainingOptions(epochs=3, rate=1e-3, batch=32, share=0.5, repeats=1)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign in `out`, and data to train on; nobody writes there."""
    folder = tmp_path_factory.mktemp("workshop")
    images, labels = mnist_sample()
    x, y = images.numpy(), labels.numpy()
    np.savez(folder / "seeds.npz", x=x[:SEEDS], y=y[:SEEDS])
    np.savez(folder / "data.npz", x=x[100:300], y=y[100:300])
    np.savez(folder / "test.npz", x=x[300:], y=y[300:])
    np.save(folder / "unlabelled.npy", x[100:300])
    np.savez(folder / "bytes.npz", x=x[100:110] * 255, y=y[100:110])
    np.savez(folder / "cropped.npz", x=x[100:110, :, :20, :20], y=y[100:110])
    np.savez(folder / "beyond.npz", x=x[100:110], y=y[100:110] + 10)
    np.savez(folder / "one.npz", x=x[100:101], y=y[100:101])
    run_session(assemble(given(folder)))
    return folder


def given(folder: Path, **choices: Any) -> Given:
    named: dict[str, Any] = {"model": "jostle.zoo:lenet1", "seeds": str(folder / "seeds.npz"), "recipe": "dlfuzz"}
    return options(**{**named, "rounds": 1, "executions": 400, "out": str(folder / "out"), **choices})


@pytest.fixture
def out(workshop: Path, tmp_path: Path) -> Path:
    """The campaign, to be written to."""
    return Path(shutil.copytree(workshop / "out", tmp_path / "out"))


Train = Callable[..., Retraining]


@pytest.fixture
def train(workshop: Path, out: Path) -> Train:
    def trained(
        data: str = "data.npz",
        test: str | None = "test.npz",
        to: Path | None = None,
        training: TrainingOptions = QUICK,
        model: str | None = None,
    ) -> Retraining:
        named = None if test is None else str(workshop / test)
        return retrain(out, model, str(workshop / data), named, to, training)

    return trained


def test_findings_trained_on_are_read_rightly_afterwards(train: Train) -> None:
    result = train()
    assert result.findings > 5 and result.before.trained == 0
    assert result.after.trained > 0.5
    assert result.after.clean > result.before.clean - 0.05
    assert (result.data, result.held_out) == (200, 200)


def test_the_saved_weights_are_those_that_were_measured(train: Train, out: Path, workshop: Path) -> None:
    result = train()
    assert Path(result.out) == out / "retrained.safetensors"
    model = lenet1()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(load_file(result.out))
    images, labels = mnist_sample()
    accuracy = float((model(images[300:]).argmax(1) == labels[300:]).float().mean())
    assert accuracy == pytest.approx(result.after.clean)
    assert all(not torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(lenet1().state_dict()["conv1.weight"], before["conv1.weight"])


def test_an_exported_program_is_saved_whole_and_takes_any_number_of_inputs(train: Train, tmp_path: Path) -> None:
    result = train(to=tmp_path / "retrained.pt2")
    model = load_subject(result.out)
    images, labels = mnist_sample()
    accuracy = float((model.module(images[300:]).argmax(1) == labels[300:]).float().mean())
    assert model.batch is None and accuracy == pytest.approx(result.after.clean)


def test_the_same_seed_trains_the_same_model(train: Train, tmp_path: Path) -> None:
    weights = []
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        torch.manual_seed(hash(name) % 100)
        to = tmp_path / f"{name}.safetensors"
        train(to=to, training=replace(QUICK, seed=seed))
        weights.append(load_file(to)["conv1.weight"])
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("to", [None, "mine.safetensors", "mine.pt2"])
def test_nothing_is_ever_overwritten(to: str | None, train: Train, out: Path, tmp_path: Path) -> None:
    place = out / "retrained.safetensors" if to is None else tmp_path / to
    place.write_bytes(b"precious")
    with pytest.raises(OutputRefused, match="exists and is not overwritten: give another --out"):
        train(to=None if to is None else place)
    assert place.read_bytes() == b"precious"


def test_the_campaign_is_left_as_it_was(train: Train, out: Path) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    result = train()
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert after.pop(Path(result.out)) and after == before


# The control


def test_every_repeat_trains_a_control_and_the_first_is_saved(train: Train, tmp_path: Path) -> None:
    several = train(to=tmp_path / "several.safetensors", training=replace(QUICK, repeats=2, epochs=1))
    once = train(to=tmp_path / "once.safetensors", training=replace(QUICK, repeats=1, epochs=1))
    assert len(several.repeats) == 2 and several.repeats[0] == once.repeats[0]
    assert several.repeats[0] != several.repeats[1]
    assert (several.after, several.control) == (once.after, once.control)
    assert load_file(several.out).keys() == load_file(once.out).keys()
    assert all(torch.equal(value, load_file(once.out)[name]) for name, value in load_file(several.out).items())


def test_the_control_is_not_shown_findings_and_learns_less_of_them(train: Train) -> None:
    result = train(training=replace(QUICK, epochs=6))
    assert result.control.trained < result.after.trained


def test_a_control_takes_the_same_steps_on_the_same_batches_but_for_the_extra_inputs() -> None:
    data, findings = some_data(), Labelled(torch.full((5, 4), 9.0), torch.zeros(5).long())
    training = TrainingOptions(epochs=2, batch=8, share=0.25)

    def shown(extra: Labelled) -> list[Tensor]:
        net = Noting()
        fit(TorchTrainable(net, TorchTarget(net)), data, extra, training)
        return net.seen

    on_findings, control = shown(findings), shown(data)
    assert len(on_findings) == len(control)
    for one, other in zip(on_findings, control, strict=True):
        assert one.shape == other.shape and torch.equal(one[:-2], other[:-2])
        assert (one[-2:] == 9).all() and all((data.inputs == row).all(1).any() for row in other[-2:])


def test_a_copy_with_dropout_is_trained_alike_by_one_seed() -> None:
    def trained() -> Tensor:
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 2))
        net.load_state_dict({name: torch.ones_like(value) for name, value in net.state_dict().items()})
        fit(TorchTrainable(net, TorchTarget(net)), some_data(), some_data(), TrainingOptions(epochs=1, batch=8))
        return net[0].weight.detach().clone()

    one = trained()
    torch.rand(3)  # whatever else was drawn meanwhile
    assert torch.equal(one, trained())


def retraining(before: float, *pairs: tuple[float, float]) -> Retraining:
    """With these accuracies on held-out data: before, and (after, control) of each repeat."""

    def on_clean(share: float) -> Accuracy:
        return Accuracy(share, 0.5, 0.5)

    repeats = tuple(TrainedPair(on_clean(after), on_clean(control)) for after, control in pairs)
    return Retraining(1, 1, 0, 1, 1, False, on_clean(before), repeats, "out")


@pytest.mark.parametrize(
    ("before", "pairs", "words"),
    [
        (0.90, [(0.95, 0.95)], "is that of more training"),
        (0.90, [(0.95, 0.96), (0.95, 0.94), (0.95, 0.94)], "is that of more training"),
        (0.90, [(0.95, 0.91)], "above that of more training, once"),
        (0.90, [(0.95, 0.91), (0.94, 0.92)], "above that of more training in each of 2 repeats"),
        (0.90, [(0.89, 0.95)], "failing tests add nothing"),
        (0.90, [(0.89, 0.80)], "fell by less than with clean inputs"),
        (0.90, [(0.90, 0.80)], "stayed, and fell with clean inputs"),
    ],
)
def test_a_gain_is_called_what_it_is(before: float, pairs: list[tuple[float, float]], words: str) -> None:
    assert words in retraining(before, *pairs).verdict


def test_differences_are_taken_repeat_by_repeat() -> None:
    spread = retraining(0.5, (0.9, 0.8), (0.7, 0.9), (0.8, 0.5)).difference("clean")
    assert [spread.smallest, spread.median, spread.largest] == pytest.approx([-0.2, 0.1, 0.3])


def test_training_that_diverges_is_one_line_that_names_the_rate_and_saves_nothing(train: Train, out: Path) -> None:
    with pytest.raises(ModelRefused, match=r"training diverged after step \d+, .*: give a --rate below 1e\+30"):
        train(training=replace(QUICK, rate=1e30))
    assert not (out / "retrained.safetensors").exists()


def test_a_model_whose_loss_is_never_finite_is_not_blamed_on_the_rate() -> None:
    net = nn.Sequential(nn.Linear(4, 2))
    nn.init.constant_(net[0].weight, float("nan"))
    with pytest.raises(ModelRefused, match="not finite before any training"):
        fit(TorchTrainable(net, TorchTarget(net)), some_data(), some_data(), TrainingOptions(epochs=1))


def test_weights_that_the_last_step_breaks_are_seen() -> None:
    net = nn.Sequential(nn.Linear(4, 2)).half()
    with pytest.raises(ModelRefused, match=r"in its last step.*--rate below 1e\+06"):
        fit(TorchTrainable(net, TorchTarget(net)), some_data(6), some_data(6), TrainingOptions(epochs=1, rate=1e6))


def test_what_cannot_be_saved_is_told_before_training(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_reached(*_: object) -> None:
        pytest.fail("it was trained first")

    monkeypatch.setattr(TorchTrainable, "train", not_reached)
    monkeypatch.setattr("jostle.subjects.torch_training._exported", lambda *_: 1 / 0)
    with pytest.raises(OutputRefused, match=r"cannot be exported .*: save as \.safetensors"):
        train(to=tmp_path / "model.pt2")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("batch", [2, 3, 32])
def test_a_step_holds_as_many_inputs_as_were_asked_for(share: float, batch: int) -> None:
    class Listening:
        def train(self, batches: Iterable[tuple[Tensor, Tensor]], rate: float) -> None:
            self.sizes = [len(labels) for _, labels in batches]

    model = Listening()
    fit(model, some_data(64), some_data(), TrainingOptions(epochs=1, batch=batch, share=share))  # type: ignore[arg-type]
    assert max(model.sizes) == batch


# Splitting


def saved_data(path: Path, *parts: Tensor) -> str:
    inputs = torch.cat(parts)
    np.savez(path, x=inputs.numpy(), y=np.zeros(len(inputs), int))
    return str(path)


def test_what_is_measured_on_was_neither_trained_on_nor_made_failing_tests_of(tmp_path: Path) -> None:
    images = mnist_sample()[0]
    seeds, data, other = images[:10], images[10:30], images[30:50]
    options, rng = given(tmp_path).of(InputOptions), torch.Generator()
    known = saved_data(tmp_path / "data.npz", data)
    split = split_data(options, known, saved_data(tmp_path / "test.npz", seeds, other, data[:3]), seeds, 0.5, rng)
    assert torch.equal(split.measured.inputs, other) and split.met == 13

    split = split_data(options, saved_data(tmp_path / "both.npz", data, seeds), None, seeds, 0.9, rng)
    assert len(split.measured) == 20 and not among(split.measured.inputs, seeds).any()
    assert among(seeds, split.trained.inputs).all()


@pytest.mark.parametrize("tested", [True, False])
def test_data_that_holds_nothing_new_cannot_be_measured_on(tmp_path: Path, tested: bool) -> None:
    seeds = mnist_sample()[0][:10]
    known = saved_data(tmp_path / "data.npz", seeds)
    with pytest.raises(SeedsRefused, match="give inputs that are not in --data" if tested else "give more, or --test"):
        split_data(given(tmp_path).of(InputOptions), known, known if tested else None, seeds, 0.5, torch.Generator())


def test_the_seeds_of_failing_tests_that_are_trained_on_are_known(out: Path) -> None:
    parts = split_failing(out, 0.5, torch.Generator().manual_seed(0))
    expected = mnist_sample()[0][sorted(roots_of(parts.trained, out))]
    assert len(parts.trained_seeds) == len(expected) and among(expected, parts.trained_seeds).all()


@pytest.fixture
def findings_only(out: Path) -> Path:
    """The campaign as versions wrote it that kept no failing tests besides the findings."""
    forget_failing(out)
    return out


def split(out: Path, held_out: float = 0.2, seed: int = 0) -> tuple[Labelled, Labelled]:
    parts = split_failing(out, held_out, torch.Generator().manual_seed(seed))
    return parts.trained, parts.unseen


def roots_of(failing: Labelled, out: Path) -> set[int]:
    tests = read_failing(out)
    known = {input.numpy().tobytes(): root for input, root in zip(tests.inputs, tests.roots.tolist(), strict=True)}
    return {known[input.numpy().tobytes()] for input in failing.inputs}


@pytest.mark.parametrize("held_out", [0.05, 0.2, 0.5])
def test_failing_tests_are_split_by_the_seed_that_they_came_from(held_out: float, out: Path) -> None:
    for seed in range(5):
        found, unseen = split(out, held_out, seed)
        trained, measured = roots_of(found, out), roots_of(unseen, out)
        assert trained and measured and not trained & measured
        tests = read_failing(out)
        assert len(found) + len(unseen) == int(((tests.parents >= 0) & tests.confirmed).sum())
        assert len(measured) == max(1, round(held_out * len(trained | measured)))


def test_all_failing_tests_are_trained_on_and_not_one_for_each_bug(out: Path) -> None:
    whole = sum(map(len, split(out)))
    assert whole == len(read_failing(out)) >= len(saved_findings(out))
    forget_failing(out)
    parts = split_failing(out, 0.2, torch.Generator())
    assert parts.findings_only and len(parts.trained) + len(parts.unseen) == len(saved_findings(out))


def test_a_failing_test_is_labelled_as_its_seed_is_and_not_as_the_model_says(out: Path) -> None:
    labels, tests = mnist_sample()[1], read_failing(out)
    known = {input.numpy().tobytes(): root for input, root in zip(tests.inputs, tests.roots.tolist(), strict=True)}
    for forgotten in (False, True):
        if forgotten:
            forget_failing(out)
        found, _ = split(out)
        for input, label in zip(found.inputs, found.labels.tolist(), strict=True):
            assert label == labels[known[input.numpy().tobytes()]]


def test_a_seed_that_fails_itself_is_not_trained_on(findings_only: Path) -> None:
    first = saved_findings(findings_only)[0]
    (first.folder / RECORD).write_bytes(encode_record({**record_as_json(first.record), "parent": -1}))
    found, unseen = split(findings_only)
    assert len(found) + len(unseen) == len(saved_findings(findings_only)) - 1
    assert not (torch.cat([found.inputs, unseen.inputs]) == first.input).flatten(1).all(1).any()


@pytest.mark.parametrize("held_out", [0.8, 0.95, 0.999])
def test_however_much_is_held_out_something_is_left_to_train_on_or_it_is_refused(
    held_out: float, findings_only: Path
) -> None:
    out = findings_only
    roots = {one.record.root for one in saved_findings(out)}
    for finding in saved_findings(out):
        if finding.record.root not in sorted(roots)[:2]:
            shutil.rmtree(finding.folder)
    try:
        found, unseen = split(out, held_out)
    except UsageError as error:
        assert "--held-out" in str(error)
    else:
        assert len(found) and len(unseen)


def test_without_test_data_some_of_the_data_is_held_out(train: Train) -> None:
    result = train(test=None)
    assert (result.data, result.held_out) == (160, 40)


# What cannot be trained on


@pytest.mark.parametrize(
    ("choices", "refused", "cause", "fix"),
    [
        ({"data": "unlabelled.npy"}, SeedsRefused, "has inputs without labels", "give an .npz with x and y"),
        ({"test": "unlabelled.npy"}, SeedsRefused, "--test", "give an .npz with x and y"),
        ({"data": "gone.npz"}, SeedsRefused, "gone.npz do not exist", "give a folder of images"),
        ({"data": "bytes.npz"}, UsageError, "outside the declared range 0 to 1", "give --range"),
        ({"data": "cropped.npz", "test": None}, UsageError, "[1, 20, 20]", "give data as"),
        ({"data": "cropped.npz"}, UsageError, "[1, 20, 20]", "give data as"),
        ({"data": "beyond.npz", "test": None}, ModelRefused, "for labels up to 1", "data of its classes"),
        ({"data": "beyond.npz"}, ModelRefused, "for labels up to 1", "data of its classes"),
        ({"data": "one.npz", "test": None}, SeedsRefused, "holds 1 input that no failing test is made of", "or --test"),
        ({"model": "torch:relu"}, ModelRefused, "gives outputs of shape [1, 28, 28]", "give a classifier"),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_one_line_and_nothing_is_written(
    choices: dict[str, Any], refused: type[UsageError], cause: str, fix: str, train: Train, out: Path
) -> None:
    with pytest.raises(refused) as error:
        train(**choices)
    assert cause in str(error.value) and fix in str(error.value) and "\n" not in str(error.value)
    assert not (out / "retrained.safetensors").exists()


@pytest.mark.parametrize(
    ("name", "fix"), [("weights.bin", "ends in .safetensors or .pt2"), ("gone/w.pt2", "its folder does not exist")]
)
def test_a_place_that_cannot_be_written_to_is_refused_before_training(
    name: str, fix: str, train: Train, tmp_path: Path
) -> None:
    with pytest.raises(OutputRefused, match=fix):
        train(to=tmp_path / name)


@pytest.mark.parametrize("flips", [0, 1])
def test_a_campaign_with_flips_of_fewer_than_two_seeds_is_refused(
    flips: int, train: Train, findings_only: Path
) -> None:
    out = findings_only
    first = saved_findings(out)[0].record.root
    for finding in saved_findings(out):
        if not flips or finding.record.root != first:
            shutil.rmtree(finding.folder)
    with pytest.raises(UsageError, match=f"found changed labels from {flips} seeds?, and some must be held out"):
        train()


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"share": 0.0}, "--share 0.0"),
        ({"share": 1.0}, "--share 1.0"),
        ({"share": float("nan")}, "--share nan"),
        ({"held_out": 0.0}, "--held-out 0.0"),
        ({"held_out": 1.5}, "--held-out 1.5"),
        ({"rate": 0.0}, "--rate 0.0"),
        ({"rate": -1.0}, "--rate -1.0"),
        ({"rate": float("nan")}, "--rate nan"),
        ({"rate": float("inf")}, "--rate inf"),
        ({"rate": 1e39}, "--rate 1e\\+39"),
        ({"repeats": 0}, "--repeats 0"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_by_its_flag(choices: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=f"{said}: give"):
        TrainingOptions(**choices)  # type: ignore[arg-type]


def test_a_program_that_takes_one_batch_size_only_is_refused(train: Train, tmp_path: Path) -> None:
    images = mnist_sample()[0]
    torch.export.save(torch.export.export(lenet1(), (images[:16],)), tmp_path / "static.pt2")
    with pytest.raises(ModelRefused, match=r"static.pt2 takes only batches of 16: export it with a dynamic batch"):
        train(model=str(tmp_path / "static.pt2"))


# The training itself


def some_data(count: int = 24) -> Labelled:
    rng = torch.Generator().manual_seed(0)
    inputs = torch.rand(count, 4, generator=rng)
    return Labelled(inputs, (inputs.sum(1) > 2).long())


class Noting(nn.Module):
    """A network that notes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.seen: list[Tensor] = []

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen.append(inputs.detach().clone())
        return self.fc(inputs)


def test_every_batch_holds_the_wanted_share_of_findings() -> None:
    data = some_data()
    findings = Labelled(torch.full((5, 4), 9.0), torch.zeros(5).long())
    training = TrainingOptions(epochs=2, batch=8, share=0.25)
    net = Noting()
    fit(TorchTrainable(net, TorchTarget(net)), data, findings, training)
    seen = net.seen
    assert len(seen) == 2 * 4
    assert all((batch == 9).all(1).sum() == 2 and len(batch) == 8 for batch in seen)
    clean = torch.cat([batch[(batch != 9).any(1)] for batch in seen[:4]])
    assert torch.equal(clean.sort(0).values, data.inputs.sort(0).values)  # each once in an epoch


def test_inputs_are_normalised_as_the_campaign_did() -> None:
    net = Noting()
    target = TorchTarget(net, mean=(100.0,), std=(2.0,))
    fit(TorchTrainable(net, target), some_data(), some_data(), TrainingOptions(epochs=1, batch=8))
    assert all((batch < -49).all() for batch in net.seen)


def test_frozen_weights_stay_and_a_model_of_frozen_weights_is_refused() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    before = [weight.detach().clone() for weight in net.parameters()]
    fit(TorchTrainable(net, TorchTarget(net)), some_data(), some_data(), TrainingOptions(epochs=1))
    kept = [torch.equal(weight, was) for weight, was in zip(net.parameters(), before, strict=True)]
    assert kept == [True, True, False, False]
    with pytest.raises(ModelRefused, match="no weights that can be trained"):
        frozen = net.requires_grad_(False)
        fit(TorchTrainable(frozen, TorchTarget(frozen)), some_data(), some_data(), TrainingOptions())


def test_the_loss_of_probabilities_is_that_of_their_scores() -> None:
    scores, labels = torch.randn(6, 5), torch.arange(6) % 5
    expected = functional.cross_entropy(scores, labels)
    torch.testing.assert_close(loss(scores, labels), expected)
    torch.testing.assert_close(loss(scores.softmax(1), labels), expected)
    torch.testing.assert_close(loss(scores.log_softmax(1), labels), expected)
    assert loss(torch.eye(5)[[1, 0, 0, 0, 0, 0]], labels).isfinite()


def test_arrays_are_taken_as_they_are_however_the_campaign_read_its_images(train: Train, out: Path) -> None:
    config = out / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "channels": 1, "size": [28, 28]}))
    assert train().data == 200

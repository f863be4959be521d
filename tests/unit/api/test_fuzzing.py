"""`jostle.fuzz` takes objects where the command line takes names, and leaves nothing behind."""

from __future__ import annotations

import gc
import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import jostle
from jostle.api import progress
from jostle.api.fuzzing import OF_THE_COMMAND
from jostle.composition.settle import FUZZ
from jostle.errors import JostleError, JostleWarning, PreflightFailed, SeedsRefused, UsageError
from jostle.held import PREFIX
from jostle.oracles.properties import Element
from jostle.zoo import lenet1, mnist_sample

PATIENCE = 600  # seconds for one process, on a busy machine
QUICK = {"executions": 400, "confirm": False, "quiet": True}
FAR = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1)}
DIGITS, LABELS = (values[:40] for values in mnist_sample())


class Logarithm(nn.Module):
    """Not finite where its input is negative enough."""

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs.flatten(1)[:, :3] - 0.1).log()


def table() -> Tensor:
    return torch.full((6, 4), 0.4) + torch.arange(6)[:, None] / 50


def test_a_module_with_arrays_is_fuzzed_and_left_as_it_was() -> None:
    model = Logarithm().train()
    result = jostle.fuzz(model, table(), oracle="nan", **FAR, **QUICK)
    assert model.training and not model._forward_hooks
    assert [defect.cause.kind for defect in result.defects] == ["nan"]
    shown = result.inputs(result.defects[0])
    assert (shown["input"] <= 0.1).any() and shown["reference"].min() > 0.1


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param((DIGITS.numpy(), LABELS.numpy()), id="pair"),
        pytest.param(TensorDataset(DIGITS, LABELS), id="dataset"),
        pytest.param(DataLoader(TensorDataset(DIGITS, LABELS), batch_size=16), id="loader"),
    ],
)
def test_seeds_of_every_form_are_the_same_seeds(seeds: object) -> None:
    model = lenet1()
    same = jostle.fuzz(model, DIGITS, LABELS, **QUICK)
    result = jostle.fuzz(model, seeds, **QUICK)
    assert result.summary.findings == same.summary.findings
    assert [one.title for one in result.defects] == [one.title for one in same.defects]


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(TensorDataset(DIGITS), id="dataset"),
        pytest.param(DataLoader(TensorDataset(DIGITS), batch_size=16), id="loader"),
        pytest.param(list(DIGITS.numpy()), id="list"),
    ],
)
def test_inputs_without_labels_are_seeds_in_every_form(seeds: object) -> None:
    same = jostle.fuzz(lenet1(), DIGITS, **QUICK)
    assert jostle.fuzz(lenet1(), seeds, **QUICK).summary.findings == same.summary.findings


def test_a_folder_and_a_file_are_seeds_too(tmp_path: Path) -> None:
    np.save(tmp_path / "digits.npy", DIGITS.numpy())
    for number, digit in enumerate(DIGITS):
        (tmp_path / "images" / str(int(LABELS[number]))).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray((digit[0].numpy() * 255).round().astype(np.uint8))
        image.save(tmp_path / "images" / str(int(LABELS[number])) / f"{number}.png")
    for seeds in (tmp_path / "images", str(tmp_path / "images"), tmp_path / "digits.npy"):
        assert jostle.fuzz(lenet1(), seeds, **QUICK).summary.executions == 400


def test_a_dict_of_arrays_are_seeds_and_findings_have_arrays_by_the_same_names() -> None:
    def net(image: Tensor, size: Tensor) -> Tensor:
        return (image.flatten(1).sum(1, keepdim=True) - 0.2 * size[:, None]).log()

    seeds = {"image": table().view(6, 1, 2, 2).numpy(), "size": np.arange(6, dtype=np.int64)}
    result = jostle.fuzz(net, seeds, oracle="nan", sigma=0.3, radius=1.0, range=(0, 1), **QUICK)
    shown = result.inputs(result.defects[0])
    for name in ("input", "reference"):
        assert shown[name].keys() == {"image", "size"} and shown[name]["image"].shape == (1, 2, 2)
        assert shown[name]["size"].dtype == np.int64 and shown[name]["size"].shape == ()
    assert any((shown["reference"]["image"] == one).all() for one in seeds["image"])


def test_texts_are_seeds_for_a_model_beside_its_tokenizer() -> None:
    def codes(text: str) -> list[int]:
        return [ord(letter) % 128 for letter in text]

    def odd(tokens: Tensor) -> Tensor:
        rest = tokens.sum(1).remainder(2).float()
        return torch.stack([rest, 0.5 - rest], 1)

    texts = ["what a fine day", "nothing to see here", "go away!", "well done!!"]
    result = jostle.fuzz(odd, texts, tokenizer=codes, **QUICK)
    shown = result.inputs(result.defects[0])
    assert shown["reference"] in texts and shown["input"] != shown["reference"]


def test_a_property_a_twin_and_a_function_are_given_as_they_are() -> None:
    def doubled(inputs: Tensor) -> Tensor:
        return inputs.flatten(1) * 2

    def otherwise(inputs: Tensor) -> Tensor:
        return inputs.flatten(1) * torch.where(inputs.flatten(1) > 0.6, -2.0, 2.0)

    def large(element: Element) -> bool:
        return bool(element.output.max() > 1.1)

    result = jostle.fuzz(doubled, table(), twin=otherwise, oracle=["agree", large], **FAR, **QUICK)
    assert {defect.cause.kind for defect in result.defects} == {"agree", "property"}
    assert all(result.script(defect) is None for defect in result.defects)


def test_the_folder_of_a_result_goes_with_it_unless_it_was_asked_for(tmp_path: Path) -> None:
    result = jostle.fuzz(lenet1(), DIGITS, LABELS, **QUICK)
    folder = result.folder
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.exists()
    kept = jostle.fuzz(lenet1(), DIGITS, LABELS, out=tmp_path / "kept", **QUICK)
    assert kept.folder == tmp_path / "kept"
    del kept
    gc.collect()
    more = jostle.fuzz(lenet1(), DIGITS, LABELS, out=tmp_path / "kept", **{**QUICK, "executions": 600})
    assert more.summary.executions == 600 and more.ended.ran == 200


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    jostle.fuzz(lenet1(), DIGITS, LABELS, **{**QUICK, "quiet": False})
    assert capfd.readouterr() == ("", "")


def test_what_the_command_line_would_warn_of_is_a_warning() -> None:
    with pytest.warns(JostleWarning, match="neurons are taken to range as they do on the seeds"):
        jostle.fuzz(lenet1(), DIGITS, LABELS, coverage="kmnc", **QUICK)


INTERRUPTED = """
import signal
import torch
import jostle

seen = []


def slow(inputs):
    seen.append(len(inputs))
    if len(seen) == 30:
        signal.raise_signal(signal.SIGINT)
    return inputs.flatten(1)


result = jostle.fuzz(slow, torch.rand(8, 4), oracle="nan", budget="10m", batch=8, confirm=False, quiet=True)
print(result.interrupted, result.summary.executions > 0, end="")
"""


def test_ctrl_c_gives_what_there_is() -> None:
    """In a process of its own, as other libraries that ran in this one may not stand signals."""
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout) == (0, "True True"), ran.stderr


def test_a_signal_that_ends_a_script_ends_its_campaigns_too() -> None:
    class Ended(Exception):
        pass

    def end(number: int, frame: object) -> None:
        raise Ended

    before, seen = signal.signal(signal.SIGTERM, end), []

    class Watching:
        """Is asked within a campaign, where nothing of ours may hold the signal."""

        def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
            seen.append(signal.getsignal(signal.SIGTERM))
            return torch.zeros(children, dtype=torch.long)

    try:
        jostle.fuzz(lenet1(), DIGITS, LABELS, scheduler=Watching, **QUICK)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen and set(seen) == {end}


def test_threads_can_fuzz_too() -> None:
    results: list[jostle.Result] = []
    thread = threading.Thread(target=lambda: results.append(jostle.fuzz(lenet1(), DIGITS, LABELS, **QUICK)))
    thread.start()
    thread.join()
    assert results[0].summary.executions == 400


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"budgt": "5s"}, UsageError, "unknown setting 'budgt', did you mean 'budget'"),
        ({"budget": "0s"}, UsageError, "--budget 0s: give a time such as 60s"),
        ({"coverage": "kmcn"}, UsageError, "did you mean kmnc"),
        ({"isolate": True}, UsageError, "LeNet is an object of this process"),
        ({"twin": nn.Linear(3, 2)}, JostleError, "twin"),
        ({"labels": LABELS[:7]}, UsageError, "7"),
        ({"seeds": "nowhere/at/all"}, UsageError, "seeds nowhere/at/all do not exist"),
        ({"seeds": torch.zeros(3, 2, 5, 5)}, PreflightFailed, "the model fails on seeds of shape"),
        ({"model": object()}, JostleError, "object"),
        ({"model": None}, UsageError, "model is None: give a module"),
        ({"model": 3}, JostleError, "int is a int"),
        ({"seeds": None}, UsageError, "seeds is None: give arrays"),
        ({"model": "nothing.onnx"}, JostleError, "nothing.onnx does not exist"),
        ({"out": "/proc/nowhere"}, JostleError, "/proc/nowhere"),
    ],
)
def test_bad_input_is_one_line_of_our_own(options: dict[str, object], kind: type[JostleError], told: str) -> None:
    given: dict[str, object] = {"model": lenet1(), "seeds": DIGITS, "labels": LABELS, "executions": 50, **options}
    if given["seeds"] is not DIGITS:
        given["labels"] = None
    with pytest.raises(kind) as caught:
        jostle.fuzz(**given)  # type: ignore[arg-type]
    assert told in str(caught.value) and "\n" not in str(caught.value) and PREFIX not in str(caught.value)


def test_labels_beside_a_folder_are_refused() -> None:
    with pytest.raises(UsageError, match="labels: seeds photos bring theirs"):
        jostle.fuzz(lenet1(), "photos", LABELS)


def test_its_signature_tells_every_option() -> None:
    parameters = inspect.signature(jostle.fuzz).parameters
    assert list(parameters)[:3] == ["model", "seeds", "labels"]
    assert FUZZ.options.keys() - OF_THE_COMMAND.keys() <= parameters.keys()
    assert not OF_THE_COMMAND.keys() & parameters.keys()


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"report": True}, r"report is of the command line: use result\.report\(\)"),
        ({"fail_on": "nan"}, r"fail_on is of the command line: use result\.assert_clean\(allow=…\)"),
        ({"fail_if_more_than": 0}, r"fail_if_more_than is of the command line"),
    ],
)
def test_what_says_how_the_command_ends_is_refused_with_what_to_use(option: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        jostle.fuzz(lenet1(), DIGITS, LABELS, **option)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param((DIGITS, LABELS), id="pair"),
        pytest.param(TensorDataset(DIGITS, LABELS), id="dataset"),
        pytest.param(DataLoader(TensorDataset(DIGITS, LABELS)), id="loader"),
    ],
)
def test_labels_beside_what_brings_its_own_are_refused(seeds: object) -> None:
    with pytest.raises(UsageError, match=f"labels: a {type(seeds).__name__} as seeds brings its own"):
        jostle.fuzz(lenet1(), seeds, LABELS)


def test_labels_beside_a_list_of_arrays_are_those_of_its_rows() -> None:
    same = jostle.fuzz(lenet1(), DIGITS, LABELS, **QUICK)
    assert jostle.fuzz(lenet1(), list(DIGITS), LABELS, **QUICK).summary.findings == same.summary.findings


class OfTwoSizes(Dataset[Tensor]):
    """Images that no batch can hold together."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, row: int) -> Tensor:
        return torch.zeros(1, 20 + row, 20)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param([np.zeros((1, 28, 28)), np.zeros((1, 20, 20))], id="list"),
        pytest.param(DataLoader(OfTwoSizes(), batch_size=1), id="batches"),
        pytest.param(DataLoader(OfTwoSizes(), batch_size=2), id="within a batch"),
    ],
)
def test_inputs_of_different_sizes_are_refused_in_one_line(seeds: object) -> None:
    with pytest.raises(SeedsRefused, match=r"cannot be made one array .*: give inputs of one shape") as caught:
        jostle.fuzz(lenet1(), seeds)
    assert "\n" not in str(caught.value)


def test_any_option_that_names_a_file_may_be_a_path(tmp_path: Path) -> None:
    classes = tmp_path / "classes.txt"
    classes.write_text("\n".join(f"digit {number}" for number in range(10)))
    np.save(tmp_path / "known.npy", DIGITS.numpy())
    how = {"classes": classes, "profile": tmp_path / "known.npy", "coverage": "kmnc", **QUICK}
    named = jostle.fuzz(lenet1(), DIGITS, LABELS, **how)
    assert named.summary.coverage["kmnc"]
    assert all("digit" in one.title for one in named.defects if one.cause.kind == "flip")


def test_a_profile_is_data_of_every_form_for_both_functions() -> None:
    loader = DataLoader(TensorDataset(DIGITS, LABELS), batch_size=16)
    same = jostle.fuzz(lenet1(), DIGITS, LABELS, coverage="kmnc", profile=DIGITS, **QUICK)
    result = jostle.fuzz(lenet1(), DIGITS, LABELS, coverage="kmnc", profile=loader, **QUICK)
    assert result.summary.coverage == same.summary.coverage
    kmnc = jostle.coverage(lenet1(), DIGITS, "kmnc", profile=loader)
    assert kmnc == jostle.coverage(lenet1(), DIGITS, "kmnc", profile=DIGITS)


def test_a_run_that_had_nothing_left_to_spend_says_so(tmp_path: Path) -> None:
    how = {"oracle": "nan", "range": (0.2, 1), "out": tmp_path / "run", **QUICK}
    first = jostle.fuzz(Logarithm(), table(), **how)
    assert not any("budget was spent before" in one for one in first.warnings)
    with pytest.warns(JostleWarning, match="the budget was spent before, so nothing more ran: give more to go on"):
        again = jostle.fuzz(Logarithm(), table(), **how)
    assert again.ended.ran == 0 and not again.defects


def test_seeds_that_all_violate_something_are_told_of() -> None:
    with pytest.warns(JostleWarning, match="there was nothing to mutate"):
        jostle.fuzz(Logarithm(), table() / 10, oracle="nan", **QUICK)


def test_profiling_and_finishing_are_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Place:
        def show(self, share: float, text: str) -> None:
            assert 0 <= share <= 1
            told.append(text)

        def close(self) -> None:
            told.append("closed")

    monkeypatch.setattr(progress, "_place", Place)
    how = {**QUICK, **FAR, "quiet": False, "oracle": "nan", "coverage": "kmnc", "profile": table()}
    jostle.fuzz(nn.Sequential(nn.Identity(), Logarithm()), table(), **how)
    assert told[0] == "profiling, 0 of 6" and told[-1] == "closed"
    assert any(text.startswith("finishing findings, 0 of ") for text in told)


def test_coverage_of_arrays_is_that_of_the_meter() -> None:
    model = lenet1()
    figures = jostle.coverage(model, DIGITS)
    meter = jostle.CoverageMeter(model, ["nc", "tknc", "bknc", "nlc", "sscov"])
    meter.add(DIGITS)
    assert figures == meter.coverage()
    assert set(jostle.coverage(model, DIGITS, profile=DIGITS, criteria="all")) >= {"kmnc", "nbc", "snac"}
    with pytest.raises(UsageError, match="did you mean"):
        jostle.coverage(model, DIGITS, "kmncc")
    with pytest.raises(UsageError, match=r"jostle\.coverage: option 'sectons' is unknown: did you mean sections"):
        jostle.coverage(model, DIGITS, sectons=3)
    with pytest.raises(UsageError, match=r"jostle\.coverage: option 'budget' is unknown"):
        jostle.coverage(model, DIGITS, budget="5s")


def test_compare_finds_where_a_twin_differs() -> None:
    def twin(inputs: Tensor) -> Tensor:
        scores: Tensor = lenet1()(inputs)
        return torch.where(inputs.mean((1, 2, 3))[:, None] > 0.12, scores.flip(1), scores)

    with torch.no_grad():
        result = jostle.compare(lenet1(), twin, DIGITS, **QUICK)
    assert result.defects and all(defect.cause.kind == "agree" for defect in result.defects)
    assert "twin" in result.defects[0].title and "jostle.held" not in result._repr_html_()

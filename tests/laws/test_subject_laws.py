"""What is true of every subject, whatever kind of model it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import UsageError
from jostle.subjects.instrument import layers_on_one, traits_on
from jostle.subjects.registry import KINDS, load, subject_of
from jostle.subjects.subject import Loading, Subject, Watch
from jostle.subjects.twin_making import TwinMaking
from jostle.traits import Traits
from jostle.zoo import lenet1, mnist_sample
from making import batch_of
from model_files import write_keras, write_onnx, write_openvino, write_saved_model, write_vision_transformer

SOURCE = """
import numpy as np
from jostle.zoo import lenet1

def net():
    return lenet1()

def function(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1)[:, :10] * 2
"""
IMAGES = mnist_sample()[0][:6]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, litert_files: Path) -> Path:
    """A model of every kind."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "nets.py").write_text(SOURCE)
    dynamic = ({0: torch.export.Dim("batch", min=1)},)
    torch.export.save(torch.export.export(lenet1(), (IMAGES[:2],), dynamic_shapes=dynamic), folder / "net.pt2")
    torch.export.save(torch.export.export(lenet1(), (IMAGES[:2],)), folder / "two.pt2")
    torch.jit.trace(lenet1(), IMAGES[:2]).save(str(folder / "scripted.pt"))
    torch.save(lenet1(), folder / "pickled.pt")
    write_openvino(write_onnx(lenet1(), IMAGES[:2], folder / "net.onnx"), folder / "net.xml")
    write_vision_transformer(folder / "vit")
    shutil.copyfile(litert_files / "float.tflite", folder / "net.tflite")
    shutil.copyfile(litert_files / "int8.tflite", folder / "int8.tflite")
    write_keras(lenet1(), folder / "net.keras", fused=True)
    write_keras(lenet1(), folder / "net.h5")
    write_saved_model(lenet1(), folder / "saved")
    return folder


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    "torch module": lambda files: load(f"{files / 'nets.py'}:net"),
    "exported program": lambda files: load(str(files / "net.pt2")),
    "exported program of one batch size": lambda files: load(str(files / "two.pt2")),
    "TorchScript": lambda files: load(str(files / "scripted.pt"), trusted=True),
    "pickled torch module": lambda files: load(str(files / "pickled.pt"), trusted=True),
    "function of a batch": lambda files: load(f"{files / 'nets.py'}:function"),
    "ONNX": lambda files: load(str(files / "net.onnx")),
    "OpenVINO": lambda files: load(str(files / "net.xml")),
    "ONNX by OpenVINO": lambda files: load(str(files / "net.onnx"), how=Loading(engine="openvino")),
    "LiteRT": lambda files: load(str(files / "net.tflite")).channels_last(),
    "LiteRT, quantised": lambda files: load(str(files / "int8.tflite")).channels_last(),
    "Keras": lambda files: load(str(files / "net.keras")).channels_last(),
    "Keras of old": lambda files: load(str(files / "net.h5")).channels_last(),
    "SavedModel": lambda files: load(str(files / "saved")).channels_last(),
    "Hugging Face folder": lambda files: load(str(files / "vit")),
}
every_subject = pytest.mark.parametrize("name", SUBJECTS)


def outputs(subject: Subject) -> Tensor:
    return subject.target().predict(IMAGES[: subject.batch or len(IMAGES)])


def test_every_kind_of_model_is_held_to_these_laws() -> None:
    assert {kind.name for kind in KINDS} <= set(SUBJECTS)


@every_subject
def test_loading_again_gives_the_same_model(name: str, files: Path) -> None:
    one, again = SUBJECTS[name](files), SUBJECTS[name](files)
    assert one.digest == again.digest and one.architecture == again.architecture
    assert torch.equal(outputs(one), outputs(again))


@every_subject
def test_its_target_runs_as_it_predicts(name: str, files: Path) -> None:
    subject = SUBJECTS[name](files)
    target, rows = subject.target(), IMAGES[: subject.batch or len(IMAGES)]
    trace = target.run(batch_of(rows))
    assert trace.ran.all() and torch.allclose(trace.outputs["model"], target.predict(rows), atol=1e-5)


@every_subject
def test_layers_that_it_names_can_be_watched(name: str, files: Path) -> None:
    subject = SUBJECTS[name](files)
    layers = layers_on_one(subject, IMAGES[:1])
    rows = IMAGES[: subject.batch or len(IMAGES)]
    trace = subject.target(Watch([layer.name for layer in layers])).run(batch_of(rows))
    assert [called for called in trace.activations if "#" not in called] == [layer.name for layer in layers]
    assert all(len(value) == len(rows) for value in trace.activations.values())
    assert subject.incoming(layers).keys() == {layer.name for layer in layers}


@every_subject
def test_an_ordinary_model_has_nothing_to_tell_of_itself(name: str, files: Path) -> None:
    subject = SUBJECTS[name](files)
    assert traits_on(subject, IMAGES[:1]) == Traits()


@every_subject
def test_it_can_be_known_to_accept_one_batch_size_only(name: str, files: Path) -> None:
    single = SUBJECTS[name](files).of_batch(1)
    assert single.batch == 1 and single.digest == SUBJECTS[name](files).digest


# How far answers of a twin may be from those of the model, whose scores go up to about 20.
TOLERANCES = {"float16": 0.1, "bfloat16": 0.5, "weights16": 0.1, "int8": 1.0, "int8-static": 1.0}
EXACT = 1e-3  # of twins that compute as the model does
KIND_OF = {
    "exported program of one batch size": "exported program",
    "ONNX by OpenVINO": "ONNX",
    "LiteRT, quantised": "LiteRT",
    "Keras of old": "Keras",
}
# What a kind of model has in general and a model of it need not: no linear layers, nothing that can be traced.
REFUSED = {
    *((name, "int8") for name in ("exported program", "exported program of one batch size")),
    *(("TorchScript", twin) for twin in ("int8", "int8-static", "compile", "export", "onnx", "openvino")),
    *(("function of a batch", twin) for twin in ("int8", "int8-static", "export", "onnx", "openvino")),
}
NOT_RUN = {("function of a batch", "bfloat16")}  # numpy has none
COMPILED = ("torch module", "exported program")  # takes long


def twins_of(name: str) -> list[str]:
    (kind,) = (kind for kind in KINDS if kind.name == KIND_OF.get(name, name))
    return [twin for twin in kind.twins if twin != "compile" or name in COMPILED]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where twins are made; what one is made by way of is there for the next."""
    return tmp_path_factory.mktemp("twins")


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        pytest.param(name, twin, marks=pytest.mark.slow if twin == "compile" else ())
        for name in SUBJECTS
        for twin in twins_of(name)
    ],
)
def test_a_twin_answers_about_as_its_model_and_leaves_it_as_it_was(
    name: str, twin: str, files: Path, twins: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    subject = SUBJECTS[name](files)
    before, digest = outputs(subject), subject.digest
    making = TwinMaking(IMAGES, twins / name)
    if (name, twin) in REFUSED:
        with pytest.raises(UsageError, match=f"^--twin {twin} [^\n]*$"):
            subject.twin(twin, making)
        return
    made = subject.twin(twin, making)
    made = _loaded(made, "Keras" in name or name == "SavedModel") if isinstance(made, Path) else made
    assert made is not None and made.batch == subject.batch
    if (name, twin) not in NOT_RUN:
        assert torch.allclose(outputs(made), before, atol=TOLERANCES.get(twin, EXACT))
    assert torch.equal(outputs(subject), before) and subject.digest == digest
    assert capfd.readouterr() == ("", "")


@every_subject
def test_a_twin_of_an_unknown_name_is_none(name: str, files: Path, tmp_path: Path) -> None:
    assert SUBJECTS[name](files).twin("no such twin", TwinMaking(IMAGES, tmp_path)) is None


def _loaded(twin: Path, channels_last: bool) -> Subject:
    return load(str(twin)).channels_last() if channels_last else load(str(twin))


@pytest.mark.parametrize("name", ["torch module", "exported program", "pickled torch module"])
def test_training_a_copy_leaves_the_model_as_it_was(name: str, files: Path) -> None:
    subject = SUBJECTS[name](files)
    before = outputs(subject)
    trained = subject.trainable()
    trained.train([(IMAGES, torch.zeros(len(IMAGES)).long())], rate=0.01)
    assert torch.equal(outputs(subject), before)
    assert not torch.equal(trained.target.predict(IMAGES), before)


def test_what_is_no_model_is_no_subject() -> None:
    assert subject_of(5) is None
    assert isinstance(subject_of(nn.Linear(2, 2)), Subject)

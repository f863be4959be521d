"""Benchmarks get the networks of the papers by one function, with as many neurons as the papers count."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from jostle.commands.coverage_meter import CoverageMeter
from jostle.errors import ModelRefused, SeedsRefused, UsageError

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
NEURONS = {"lenet1": 42, "lenet4": 138, "lenet5": 258, "resnet20": 2_570, "vgg8": 682}


@pytest.fixture
def paper_subjects(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("h5py")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delenv("JOSTLE_CIFAR10", raising=False)
    import paper_subjects

    return paper_subjects


@pytest.fixture
def imagenet_subjects(paper_subjects: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = sys.modules["imagenet_subjects"]
    monkeypatch.setattr(found, "imagenet_images", lambda: (torch.zeros(2, 3, 32, 32), torch.tensor([0, 1])))
    return found


@pytest.mark.parametrize("name", NEURONS)
def test_a_subject_ends_in_softmax_and_has_the_neurons_that_deephunter_counts(
    paper_subjects: ModuleType, name: str
) -> None:
    subject = paper_subjects.subject(name)
    images = torch.rand(2, *((1, 28, 28) if name.startswith("lenet") else (3, 32, 32)))
    meter = CoverageMeter(subject.model, ("nc",), layers=subject.layers, units="channels")
    meter.add(images)
    assert meter.coverage()["nc"]["neurons"] == NEURONS[name]
    assert torch.allclose(subject.model(images).sum(1), torch.ones(2))


def test_the_stages_of_resnet20_are_three_networks_and_the_last_is_the_subject(paper_subjects: ModuleType) -> None:
    subject = paper_subjects.subject("resnet20")
    assert list(subject.stages) == ["A", "B", "C"]
    images = torch.rand(4, 3, 32, 32)
    answers = [model(images) for model in subject.stages.values()]
    assert torch.equal(answers[2], subject.model(images))
    assert not torch.allclose(answers[0], answers[1])


def test_images_that_are_not_there_are_told_of_when_they_are_needed(
    paper_subjects: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOSTLE_CIFAR10", str(tmp_path))
    subject = paper_subjects.subject("resnet20")
    with pytest.raises(SeedsRefused, match="make cifar10"):
        subject.held_out()


def test_a_data_folder_with_cifar10_goes_before_the_environment(
    paper_subjects: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOSTLE_CIFAR10", "elsewhere")
    assert paper_subjects.cifar10_folder(tmp_path) == Path("elsewhere")
    (tmp_path / "cifar10").mkdir()
    assert paper_subjects.cifar10_folder(tmp_path) == tmp_path / "cifar10"


def test_of_a_subject_that_does_not_exist_the_nearest_is_named(paper_subjects: ModuleType) -> None:
    with pytest.raises(UsageError, match="did you mean resnet20"):
        paper_subjects.subject("resnet")


def test_a_network_without_weights_names_the_variable_that_gives_them(imagenet_subjects: ModuleType) -> None:
    with pytest.raises(ModelRefused, match=r"JOSTLE_VGG16=FILE.py:function"):
        imagenet_subjects.imagenet_subject("vgg16")


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_users_own_network_stands_in_for_one_without_weights(
    imagenet_subjects: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from torch import nn\ndef vgg():\n    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 1000))\n")
    if by_variable:
        monkeypatch.setenv("JOSTLE_VGG16", f"{file}:vgg")
    subject = imagenet_subjects.imagenet_subject("vgg16", None if by_variable else f"{file}:vgg")
    assert subject.pretrained
    assert subject.answered_rightly().shape == (2,)
    assert len(subject.seeds()) == int(subject.answered_rightly().sum())


def test_what_is_no_network_is_refused(imagenet_subjects: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def vgg():\n    return 3\n")
    with pytest.raises(ModelRefused, match="gives int: let it return a torch module"):
        imagenet_subjects.imagenet_subject("vgg16", f"{tmp_path / 'mine.py'}:vgg")


def test_random_weights_are_labelled_and_have_the_size_of_mobilenet(imagenet_subjects: ModuleType) -> None:
    subject = imagenet_subjects.imagenet_subject("mobilenet")
    assert (subject.note, subject.pretrained) == ("random weights: cost only", False)
    meter = CoverageMeter(subject.model, ("nc",), layers=subject.layers, units="channels")
    meter.add(subject.images)
    assert meter.coverage()["nc"]["neurons"] == 38_904 - 1_024 - 1_000  # those of layers that only reshape
    assert len(subject.seeds()) == 2

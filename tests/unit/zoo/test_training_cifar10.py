"""Training for CIFAR-10 goes on where it was interrupted, and one that diverges overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file

from jostle.errors import UsageError
from jostle.zoo import Cifar10, vgg8

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with a plan of two stages and three epochs."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import train_cifar10

    stages = (train_cifar10.Stage("A", 0.05, (16, 16)), train_cifar10.Stage("B", 0.02, (16,), falls=True))
    plan = train_cifar10.Plan(vgg8, stages, (("A", "early", torch.float16), ("B", "late", torch.float32)))
    monkeypatch.setattr(train_cifar10, "PLANS", {"small": plan})
    monkeypatch.setattr(train_cifar10, "BATCH", 16)
    return train_cifar10


@pytest.fixture
def data() -> Cifar10:
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (48, 3, 32, 32), dtype=torch.uint8, generator=rng)
    labels = torch.arange(48) % 10
    return Cifar10(images, labels, images[:20], labels[:20])


def test_an_interrupted_training_ends_as_one_that_was_not(
    script: ModuleType, data: Cifar10, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    for folder in (out, again):
        folder.mkdir()
    script.train_and_store("small", data, tmp_path / "work", out, 1.0)
    epoch, ran = script.Learner.epoch, []

    def interrupted(*given: object, **options: object) -> float:
        if len(ran) == 1:
            ran.append("killed")
            raise KeyboardInterrupt
        ran.append("ran")
        return float(epoch(*given, **options))

    monkeypatch.setattr(script.Learner, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script.train_and_store("small", data, tmp_path / "resumed", again, 1.0)
    assert not list(again.iterdir())
    script.train_and_store("small", data, tmp_path / "resumed", again, 1.0)
    assert ran == ["ran", "killed", "ran", "ran"]
    for name in ("early.safetensors", "late.safetensors"):
        assert (out / name).read_bytes() == (again / name).read_bytes()


def test_each_stage_is_stored_in_its_own_type_and_loads_into_the_network(
    script: ModuleType, data: Cifar10, tmp_path: Path
) -> None:
    script.train_and_store("small", data, tmp_path / "work", tmp_path, 1.0)
    assert load_file(tmp_path / "early.safetensors")["fc1.weight"].dtype == torch.float16
    late = load_file(tmp_path / "late.safetensors")
    vgg8(pretrained=False).load_state_dict(late)
    assert int(late["norm1_1.num_batches_tracked"]) == 9


def test_a_training_that_diverges_names_the_fix_and_overwrites_nothing(
    script: ModuleType, data: Cifar10, tmp_path: Path
) -> None:
    (tmp_path / "late.safetensors").write_bytes(b"as before")
    with pytest.raises(script.Diverged, match=r"its loss is nan .* try --rate-factor 5e\+29") as refused:
        script.train_and_store("small", data, tmp_path / "work", tmp_path, 1e30)
    assert "\n" not in str(refused.value)
    assert (tmp_path / "late.safetensors").read_bytes() == b"as before"


def test_a_training_of_another_plan_is_not_gone_on_with(script: ModuleType, data: Cifar10, tmp_path: Path) -> None:
    script.train_and_store("small", data, tmp_path / "work", tmp_path, 1.0)
    (tmp_path / "work" / "small_a.safetensors").unlink()
    with pytest.raises(UsageError, match=r"small.safetensors is of another plan: remove it"):
        script.train_and_store("small", data, tmp_path / "work", tmp_path, 1.0)


def test_an_image_is_moved_and_mirrored_but_never_mixed_with_others(script: ModuleType) -> None:
    one = torch.arange(32 * 32.0).view(1, 1, 32, 32).expand(1, 3, 32, 32)
    images = torch.cat([one, one + 10_000])
    moved = script.jittered(images, torch.Generator().manual_seed(3))
    assert moved.shape == images.shape
    assert moved[0].max() < 10_000 <= moved[1].min()
    steps = moved[:, 0].diff(dim=2).abs()[:, 4:-4, 4:-4]
    assert torch.equal(steps, torch.ones_like(steps))


@pytest.mark.slow
def test_without_the_data_the_script_ends_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / "train_cifar10.py"), "vgg8", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 4
    assert done.stdout.count("\n") == 1 and "make cifar10" in done.stdout
    assert not done.stderr

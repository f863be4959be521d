"""The same command goes on with the same model, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jostle.errors import OutputRefused
from jostle.session.assemble import assemble
from jostle.session.session import Session
from making import options, run_session

RANDOM_NET = "from torch import nn\ndef net():\n    return nn.Linear(4, 3)\n"
STORED_NET = """
import numpy as np, torch
from pathlib import Path
from torch import nn
def net():
    model = nn.Linear(4, 3)
    model.weight.data = torch.from_numpy(np.load(Path(__file__).with_name("weights.npy")))
    return model
"""


def assembled(folder: Path, **choices: object) -> Session:
    settings = {"model": str(folder / "net.py:net"), "seeds": str(folder / "x.npz"), "executions": 300}
    return assemble(options(**{**settings, "out": str(folder / "out"), **choices}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", x=rng.random((40, 4), dtype=np.float32), y=np.arange(40) % 3)
    return tmp_path


def journal(run: Session) -> str:
    run_session(run)
    return (run.archive.folder / "journal.jsonl").read_text()


def test_a_model_that_draws_its_weights_draws_the_same_each_time(folder: Path) -> None:
    (folder / "net.py").write_text(RANDOM_NET)
    once = journal(assembled(folder, out=str(folder / "once"), force=True))
    assert journal(assembled(folder, out=str(folder / "again"), force=True)) == once


def test_a_campaign_does_not_go_on_with_other_weights_or_other_labels(folder: Path) -> None:
    (folder / "net.py").write_text(STORED_NET)
    rng = np.random.default_rng(1)
    np.save(folder / "weights.npy", rng.random((3, 4), dtype=np.float32))
    journal(assembled(folder, force=True))
    arrays = dict(np.load(folder / "x.npz"))
    np.savez(folder / "x.npz", x=arrays["x"], y=1 - arrays["y"] % 2)
    with pytest.raises(OutputRefused, match=r"changed: the seeds \(.*x\.npz\)\)"):
        assembled(folder, force=True)
    np.savez(folder / "x.npz", **arrays)
    np.save(folder / "weights.npy", rng.random((3, 4), dtype=np.float32))
    with pytest.raises(OutputRefused, match=r"changed: the weights \(.*net\.py:net\)\)"):
        assembled(folder, force=True)


QUANTISED_NET = """
import torch
from torch import nn
def net():
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}, dtype=torch.qint8)
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_quantised_model_has_an_identity_too(folder: Path) -> None:
    (folder / "net.py").write_text(QUANTISED_NET)
    assert journal(assembled(folder, force=True))


def test_a_campaign_does_not_go_on_with_another_twin(folder: Path) -> None:
    (folder / "net.py").write_text(RANDOM_NET)
    (folder / "twin.py").write_text(STORED_NET)
    rng = np.random.default_rng(2)
    np.save(folder / "weights.npy", rng.random((3, 4), dtype=np.float32))
    journal(assembled(folder, force=True, twin=str(folder / "twin.py:net")))
    np.save(folder / "weights.npy", rng.random((3, 4), dtype=np.float32))
    with pytest.raises(OutputRefused, match=r"changed: the weights \(.*net\.py:net, .*twin\.py:net\)"):
        assembled(folder, force=True, twin=str(folder / "twin.py:net"))

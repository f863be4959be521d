"""How findings came from their seeds, read from the folder alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from jostle.session.assemble import assemble
from jostle.storage.ancestry import Ancestry
from jostle.storage.findings import FINDINGS, array_in, recorded
from jostle.storage.repair import CORPUS
from making import options, run_session

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(4, 8)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, inputs):
        return self.last(torch.relu(self.hidden(inputs)))

def model():
    torch.manual_seed(0)
    return Net()

def seeds():
    torch.manual_seed(1)
    inputs = torch.rand(6, 4)
    return inputs, model()(inputs).argmax(1)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("found")
    net, out = folder / "net.py", folder / "campaign"
    net.write_text(MODEL)
    chosen = {"oracle": ["flip"], "executions": 1_500, "batch": 64, "sigma": 0.05}
    run_session(assemble(options(model=f"{net}:model", seeds=f"{net}:seeds", out=str(out), **chosen)))
    return out


@pytest.fixture
def campaign(found: Path, tmp_path: Path) -> Path:
    return shutil.copytree(found, tmp_path / "campaign")


def test_the_way_of_every_finding_begins_at_its_seed_and_ends_before_itself(campaign: Path) -> None:
    ancestry = Ancestry.of(campaign)
    found = list(recorded(campaign / FINDINGS))
    ways = [(folder, record, ancestry.inputs(record)) for folder, record in found]
    assert max(len(way) for _, _, way in ways) > 1, "some finding has ancestors besides its seed"
    for folder, record, way in ways:
        reference = array_in(folder, "reference")
        assert reference is not None and torch.equal(way[0], reference)
        steps = ancestry.steps(record)
        assert len(steps) == len(way), "each array but the first was made by a step, and so was the input"
        assert steps[-1] == record.mutation


def test_a_corpus_that_is_lost_costs_the_way_and_nothing_else(campaign: Path) -> None:
    for path in (campaign / CORPUS).iterdir():
        path.write_bytes(path.read_bytes()[:40])
    ancestry = Ancestry.of(campaign)
    for _, record in recorded(campaign / FINDINGS):
        assert ancestry.steps(record) == (record.mutation,)
        assert ancestry.inputs(record) == []


def test_a_folder_without_a_journal_tells_of_no_ancestors(campaign: Path) -> None:
    (campaign / "journal.jsonl").unlink()
    ancestry = Ancestry.of(campaign)
    _, record = next(recorded(campaign / FINDINGS))
    assert ancestry.steps(record) == (record.mutation,)

"""Running any number of rows on a target that is given only so many at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.records import MODEL
from jostle.subjects.registry import load as load_subject
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.chunks import InBatches, InChunks
from making import batch_of


class OnlyFour(nn.Module):
    """Accepts exactly four rows, and counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, inputs: Tensor) -> Tensor:
        assert len(inputs) == 4
        self.calls += 1
        return inputs * 2


@pytest.mark.parametrize(("rows", "calls"), [(1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (11, 3)])
def test_any_number_of_rows_goes_through_in_full_chunks(rows: int, calls: int) -> None:
    module, batch = OnlyFour(), batch_of(torch.rand(rows, 2))
    target = InChunks(TorchTarget(module), 4)
    assert torch.equal(target.run(batch).outputs[MODEL], batch.inputs * 2)
    assert module.calls == calls
    assert torch.equal(target.predict(batch.inputs), batch.inputs * 2)


class AtMostFour(nn.Module):
    """Accepts up to four rows, and tells how many it was given each time."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[int] = []

    def forward(self, inputs: Tensor) -> Tensor:
        assert len(inputs) <= 4
        self.given.append(len(inputs))
        return inputs * 2


@pytest.mark.parametrize(("rows", "given"), [(1, [1]), (4, [4]), (5, [4, 1]), (11, [4, 4, 3])])
def test_any_number_of_rows_goes_through_in_batches_of_at_most_one_size(rows: int, given: list[int]) -> None:
    module, batch = AtMostFour(), batch_of(torch.rand(rows, 2))
    target = InBatches(TorchTarget(module), 4)
    assert torch.equal(target.run(batch).outputs[MODEL], batch.inputs * 2)
    assert module.given == given
    assert torch.equal(target.predict(batch.inputs), batch.inputs * 2)


def test_an_exported_program_of_fixed_batch_size_takes_any_number_of_rows(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    torch.export.save(torch.export.export(net, (torch.zeros(5, 3),)), tmp_path / "net.pt2")
    model = load_subject(str(tmp_path / "net.pt2"))
    assert model.batch == 5
    batch = batch_of(torch.rand(12, 3))
    trace = InChunks(TorchTarget(model.module, ["0", "2"]), model.batch).run(batch)
    torch.testing.assert_close(trace.outputs[MODEL], net(batch.inputs).detach())
    torch.testing.assert_close(trace.activations["0"], net[0](batch.inputs).detach())

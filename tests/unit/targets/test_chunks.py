"""Running any number of rows on a target that is given only so many at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.options.campaign import InputOptions, WatchOptions
from jostle.records import MODEL
from jostle.subjects.instrument import Instrumentation, instrument
from jostle.subjects.registry import load as load_subject
from jostle.subjects.torch_module import of_module
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.chunks import GradientsInBatches, InBatches, InChunks
from jostle.targets.contained import Contained
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
    assert torch.equal(InBatches(Contained(TorchTarget(module)), 4).run(batch).outputs[MODEL], batch.inputs * 2)
    assert module.given == given


@pytest.mark.parametrize(("rows", "given"), [(4, [4]), (11, [4, 4, 3])])
def test_so_does_what_is_differentiated(rows: int, given: list[int]) -> None:
    module, inputs = AtMostFour(), torch.rand(rows, 2)
    passed = GradientsInBatches(TorchTarget(module), 4).linearise(inputs)
    weights = torch.rand(rows, 2)
    assert torch.equal(passed.pull({MODEL: weights}, {}), weights * 2) and module.given == given


class InOneRoom(nn.Module):
    """Answers in memory that it uses again for the next batch."""

    def __init__(self) -> None:
        super().__init__()
        self.room = torch.zeros(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        self.room[: len(inputs)] = inputs * 2
        return self.room[: len(inputs)]


def test_answers_of_one_batch_outlive_the_next() -> None:
    batch = batch_of(torch.rand(11, 2))
    trace = InBatches(Contained(TorchTarget(InOneRoom())), 4).run(batch)
    assert torch.equal(trace.outputs[MODEL], batch.inputs * 2)


class NothingLarge(AtMostFour):
    def forward(self, inputs: Tensor) -> Tensor:
        outputs = super().forward(inputs)
        if (inputs > 5).any():
            raise ValueError("large")
        return outputs


def test_a_campaigns_model_is_given_a_batch_at_once_and_a_crash_costs_no_more_than_one() -> None:
    module, inputs = NothingLarge(), torch.rand(40, 2)
    inputs[21] = 9
    watching = Instrumentation(WatchOptions(), InputOptions())
    model = instrument(watching, of_module(module), inputs[:1]).contained(4)
    module.given.clear()
    trace = model.target.run(batch_of(inputs))
    assert [*trace.crashes] == [21] and sum(module.given) == 40 + 4 + 2  # halved, and halved again


def test_an_exported_program_of_fixed_batch_size_takes_any_number_of_rows(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    torch.export.save(torch.export.export(net, (torch.zeros(5, 3),)), tmp_path / "net.pt2")
    model = load_subject(str(tmp_path / "net.pt2"))
    assert model.batch == 5
    batch = batch_of(torch.rand(12, 3))
    trace = InChunks(TorchTarget(model.module, ["0", "2"]), model.batch).run(batch)
    torch.testing.assert_close(trace.outputs[MODEL], net(batch.inputs).detach())
    torch.testing.assert_close(trace.activations["0"], net[0](batch.inputs).detach())

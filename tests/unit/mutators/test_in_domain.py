"""Mutators that know a range of values keep any domain."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jostle.inputs.channel_range import ChannelRange
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.table import Table
from jostle.mutators.in_domain import GradientsInUnits, InDomain, InUnits, Units
from jostle.mutators.noise import Noise
from jostle.randomness import randomness
from jostle.records import Candidates
from jostle.session.assemble import assemble
from jostle.subjects.torch_target import TorchTarget
from making import batch_of, options, run_session

SPANS = torch.tensor([500.0, 0.01, 40.0])


def table() -> tuple[Table, Candidates]:
    rows = torch.rand(60, 3, generator=randomness(0, 0)) * SPANS
    rows[:, 2] = rows[:, 2].round()
    return inferred_table(rows), batch_of(rows)


def test_noise_on_a_table_is_as_large_as_its_columns_are_wide() -> None:
    domain, parents = table()
    units = Units(domain)
    noise = InUnits(Noise(0.02, 0, 1), units, units.seeds(parents.seeds), domain)
    children = noise.mutate(parents, randomness(0, 1))
    assert domain.outside(children.inputs) is None and children.seeds is parents.seeds
    steps = ((children.inputs - parents.inputs) / domain.span).std(0)
    assert ((steps > 0.01) & (steps < 0.03)).all()


def test_the_gradient_in_units_is_that_of_the_scaled_inputs() -> None:
    domain, parents = table()
    units = Units(domain)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False))
    target = GradientsInUnits(TorchTarget(net), units)
    passed = target.linearise(units.of(parents.inputs))
    weights = {name: torch.ones_like(scores) for name, scores in passed.scores.items()}
    gradient = passed.pull(weights, {})
    expected = net[0].weight.sum(0) * units.span
    assert torch.allclose(gradient, expected.expand_as(gradient), rtol=1e-4)


def test_values_are_kept_by_channel() -> None:
    domain = ChannelRange((0.0, -1.0), (1.0, 0.5), "image", 3)
    parents = batch_of(domain.nearest(torch.rand(4, 2, 3, 3), torch.rand(4, 2, 3, 3)))
    children = InDomain(Noise(5, -1, 1), domain).mutate(parents, randomness(0, 1))
    assert domain.outside(children.inputs) is None
    assert float(children.inputs[:, 1].max()) == 0.5 and float(children.inputs[:, 0].min()) == 0


NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))

def rows():
    rows = torch.rand(40, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([500.0, 0.01, 40.0])
    rows[:, 2] = rows[:, 2].round()
    return rows
"""


@pytest.mark.parametrize("mutator", ["noise", "gradient", "table"])
def test_a_whole_campaign_stays_in_the_domain_of_its_seeds(tmp_path: Path, mutator: str) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    nets = tmp_path / "nets.py"
    chosen = options(
        model=f"{nets}:net", seeds=f"{nets}:rows", mutator=(mutator,), executions=600, out=str(tmp_path / "out")
    )
    session = assemble(chosen)
    run_session(session)
    kept = session.campaign.corpus.as_parents(torch.arange(len(session.campaign.corpus)))
    domain = kept.seeds.domain
    assert domain is not None and len(kept) > 40 and domain.outside(kept.inputs) is None

"""scikit-learn's breast-cancer table through a small network that is trained here in a second.

    jostle fuzz examples/tumours.py:classifier --seeds examples/tumours.py:patients --executions 20000
    jostle fuzz examples/tumours.py:classifier --seeds examples/tumours.py:patients --recipe dlfuzz --executions 20000

Needs scikit-learn. All thirty columns are measured in units of their own, from hundredths to thousands.
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor, nn

TRAINED = 400  # of 569 patients; the others are seeds
STEPS = 300


def table() -> tuple[Tensor, Tensor]:
    """All patients [569, 30], and whether their tumour is benign [569]."""
    data = load_breast_cancer()
    return torch.from_numpy(data.data).float(), torch.from_numpy(data.target).long()


def patients() -> tuple[Tensor, Tensor]:
    """Those that the network was not trained on."""
    rows, benign = table()
    return rows[TRAINED:], benign[TRAINED:]


class Scaled(nn.Module):
    """Columns with mean 0 and standard deviation 1."""

    def __init__(self, rows: Tensor):
        super().__init__()
        self.register_buffer("mean", rows.mean(0))
        self.register_buffer("deviation", rows.std(0))

    def forward(self, rows: Tensor) -> Tensor:
        return (rows - self.mean) / self.deviation


def classifier() -> nn.Module:
    rows, benign = (values[:TRAINED] for values in table())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(Scaled(rows), nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(STEPS):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(rows), benign).backward()
        optimiser.step()
    return model.eval()

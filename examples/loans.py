"""A table of loan applications, and two models with planted defects.

    jostle fuzz examples/loans.py:approval --seeds examples/loans.csv --findings 1
    jostle fuzz examples/loans.py:scored --seeds examples/loans.csv --oracle nan --findings 1

`approval` answers the other way round at ages that are multiples of ten, which no application in the table has.
`scored` divides by the months that a temporary contract has left; only other contracts have none left in the table.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

AGE, INCOME, DEBT, MONTHS, CONTRACT, OWNER = range(6)  # columns of loans.csv, without its label
TEMPORARY = 2  # of open, permanent, temporary, in sorted order


class Approval(nn.Module):
    """Says from income and debt whether a loan is granted, and stumbles over ages that are multiples of ten."""

    def __init__(self) -> None:
        super().__init__()
        self.weigh = nn.Linear(2, 2)
        with torch.no_grad():
            self.weigh.weight.copy_(torch.tensor([[-1.0, 2.0], [1.0, -2.0]]))
            self.weigh.bias.zero_()

    def forward(self, rows: Tensor) -> Tensor:
        scores = self.weigh(rows[:, [INCOME, DEBT]] / 1000)
        stumbles = (rows[:, AGE] % 10 == 0)[:, None]
        return torch.where(stumbles, scores.flip(1), scores)


class Scored(nn.Module):
    """A score of 0 over 0 for temporary contracts that have no months left."""

    def forward(self, rows: Tensor) -> Tensor:
        left = torch.where(rows[:, CONTRACT] == TEMPORARY, rows[:, MONTHS], 12.0)
        risk = rows[:, MONTHS] * rows[:, DEBT] / left / 1000
        return torch.stack([risk, rows[:, INCOME] / 1000 - risk], 1)


def approval() -> nn.Module:
    return Approval()


def scored() -> nn.Module:
    return Scored()

"""torch.export of cov and corrcoef without weights raises, though no output depends on data otherwise than by value."""

# Fails with: DataDependentOutputException

import torch


class Covariance(torch.nn.Module):
    def forward(self, x):
        return torch.cov(x)


x = torch.arange(6.0).reshape(2, 3)
assert torch.equal(torch.export.export(Covariance(), (x,)).module()(x), torch.cov(x))

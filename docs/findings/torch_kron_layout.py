"""kron views its result, and so raises if its second input has a transposed layout."""

# Fails with: view size is not compatible with input tensor's size and stride

import torch

a, b = torch.ones(2, 3, 4), torch.ones(1, 2, 3)
assert torch.equal(torch.kron(a, b.mT.contiguous().mT), torch.kron(a, b))

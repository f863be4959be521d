"""matrix_exp views its input, and so raises for matrices in the layout channels_last."""

# Fails with: view size is not compatible with input tensor's size and stride

import torch

x = torch.zeros(2, 2, 2, 2)
assert torch.equal(torch.linalg.matrix_exp(x.contiguous(memory_format=torch.channels_last)), torch.linalg.matrix_exp(x))

"""local_response_norm of 5 axes views its input, and so raises if that has a transposed layout."""

# Fails with: view size is not compatible with input tensor's size and stride

import torch

x = torch.ones(2, 3, 2, 2, 2)
transposed = x.permute(0, 4, 2, 3, 1).contiguous().permute(0, 4, 2, 3, 1)
expected = torch.nn.functional.local_response_norm(x, 3)
assert torch.equal(torch.nn.functional.local_response_norm(transposed, 3), expected)

"""The gradient of four activations at NaN depends on the memory layout of the input."""

import torch
import torch.nn.functional as F

for function in (F.relu6, F.hardtanh, F.hardshrink, F.softshrink):
    seen = []
    for stride in (1, 2):
        x = torch.full((16 * stride,), torch.nan)[::stride].requires_grad_()
        seen.append(torch.autograd.grad(function(x).sum(), x)[0].tolist())
    print(function.__name__, "contiguous:", seen[0][0], "strided:", seen[1][0])
    assert str(seen[0]) == str(seen[1]), "equal values in another layout have another gradient"

"""hardsigmoid's gradient in float64 uses a 1/6 rounded to float32."""

import torch
import torch.nn.functional as F

x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
F.hardsigmoid(x).backward()
print(x.grad.item(), "expected", 1 / 6)
assert abs(x.grad.item() * 6 - 1) < 1e-14, "the gradient is only accurate to float32"

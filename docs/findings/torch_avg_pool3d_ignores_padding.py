"""avg_pool3d compares the kernel with the input without its padding; avg_pool2d and max_pool3d count it."""

# Fails with: smaller than kernel size

import torch
import torch.nn.functional as F

print(
    F.avg_pool2d(torch.ones(1, 1, 1, 1), 2, padding=1).shape,
    F.max_pool3d(torch.ones(1, 1, 1, 1, 1), 2, padding=1).shape,
)
y = F.avg_pool3d(torch.ones(1, 1, 1, 1, 1), 2, padding=1)
assert y.shape == (1, 1, 1, 1, 1)

"""max_pool3d gives indices beyond the volume where a dilated window meets only padding; backward writes there."""

# Fails with: AssertionError
# Fails with: SIGABRT
# Fails with: SIGSEGV

import torch
import torch.nn.functional as F

x = torch.ones(1, 1, 1, 1, 100_000, requires_grad=True)
try:
    y, indices = F.max_pool3d(x, [2, 1, 1], 1, [1, 0, 0], [2, 1, 1], return_indices=True)
except RuntimeError as error:  # to refuse such arguments mends it as well
    print(error)
    raise SystemExit from None
print("largest index:", indices.max().item(), "of a volume of", x.numel(), flush=True)
y.sum().backward()
assert indices.max() < x.numel(), "an index lies outside the volume"

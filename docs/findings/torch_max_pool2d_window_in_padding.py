"""max_pool2d gives indices beyond the plane where a dilated window meets only padding; backward writes there."""

# Fails with: AssertionError
# Fails with: SIGABRT
# Fails with: SIGSEGV

import torch
import torch.nn.functional as F

x = torch.ones(1, 2, 1, 4, requires_grad=True)
try:
    y, indices = F.max_pool2d(x, [2, 1], stride=1, padding=[1, 0], dilation=[2, 1], return_indices=True)
except RuntimeError as error:  # to refuse such arguments mends it as well
    print(error)
    raise SystemExit from None
print("y", y.tolist(), "indices", indices.tolist())
y[:, 0].sum().backward()  # of channel 0 alone
print("gradient of channel 1:", x.grad[:, 1].tolist())
assert not x.grad[:, 1].any(), "the gradient of channel 0 was written into channel 1"
assert indices.max() < 4, "an index lies outside the plane of 4 elements"

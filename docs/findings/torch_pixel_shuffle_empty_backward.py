"""pixel_shuffle accepts an image of no pixels, its backward raises."""

# Fails with: returned an invalid gradient

import torch
import torch.nn.functional as F

x = torch.zeros(3, 4, 5, 0, requires_grad=True)
y = F.pixel_shuffle(x, 2)
print(y.shape)
y.sum().backward()
assert x.grad.shape == x.shape

"""cdist with p = inf passes over NaN, so that NaN is at a distance of 0 from 1; with any other p it is NaN."""

import torch

a, b = torch.tensor([[float("nan")]]), torch.tensor([[1.0]])
assert torch.cdist(a, b, p=2.0).isnan().all()
assert torch.linalg.vector_norm(a - b, ord=float("inf")).isnan()
assert torch.cdist(a, b, p=float("inf")).isnan().all(), torch.cdist(a, b, p=float("inf"))

"""pow with the number -0.5 is -inf for -0, with a tensor of it inf. IEEE 754: inf, as -0.5 is no odd integer."""

import torch

zero, exponent = torch.tensor([-0.0]), torch.tensor([-0.5])
assert torch.pow(zero, exponent).isposinf().all()
assert torch.pow(zero, -0.5).isposinf().all(), torch.pow(zero, -0.5)

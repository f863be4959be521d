"""gelu of several float32 infinities is NaN on CPUs; of one, of float64 and with approximate="tanh" it is infinite."""

import torch

infinite = torch.tensor([float("inf")] * 3)
gelu = torch.nn.functional.gelu
assert gelu(infinite[:1]).isposinf().all()
assert gelu(infinite.double()).isposinf().all()
assert gelu(infinite).isposinf().all(), gelu(infinite)

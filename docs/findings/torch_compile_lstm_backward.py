"""Backward of torch.lstm in torch.compile raises, as a tensor that is saved for it is None; eagerly it does not."""

# Fails with: expected all tensors_saved_with_vc_check to be Tensors

import torch

weights = [torch.ones(12, 5), torch.ones(12, 3), torch.zeros(12), torch.zeros(12)]
for one in weights:
    one.requires_grad_()


def model(x, h, c, *weights):
    given = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": True}
    return torch.lstm(x, [h, c], list(weights), **given, bidirectional=False, batch_first=False)[0]


inputs = torch.ones(4, 2, 5), torch.zeros(1, 2, 3), torch.zeros(1, 2, 3)
model(*inputs, *weights).sum().backward()
torch.compile(model, backend="aot_eager")(*inputs, *weights).sum().backward()

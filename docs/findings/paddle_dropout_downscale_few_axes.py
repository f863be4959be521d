"""dropout in mode downscale_in_infer is not evaluated on a tensor of fewer than two axes."""

# Fails with: num_col_dims
import paddle
import paddle.nn.functional as F

result = F.dropout(paddle.to_tensor([3.0]), 0.5, training=False, mode="downscale_in_infer")
print(result.item(), "expected 1.5")

"""log_sigmoid of -inf is NaN. Documented: log(1 / (1 + exp(-x))), which is -inf."""

import paddle
import paddle.nn.functional as F

seen = F.log_sigmoid(paddle.to_tensor([float("-inf")], dtype="float64")).item()
print(seen, "expected -inf")
assert seen == float("-inf")

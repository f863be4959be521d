"""log_softmax is never less than -64, and cross_entropy never more than 64, also in float64."""

import paddle
import paddle.nn.functional as F

seen = F.log_softmax(paddle.to_tensor([0.0, 100.0], dtype="float64"), axis=0).numpy()
print(seen, "expected [-100, 0]")
loss = F.cross_entropy(paddle.to_tensor([[0.0, 100.0]], dtype="float64"), paddle.to_tensor([0])).item()
print("cross_entropy", loss, "expected 100")
assert abs(loss - 100) < 1e-9
assert abs(seen[0] + 100) < 1e-9, "log(exp(0) / (exp(0) + exp(100))) is -100"

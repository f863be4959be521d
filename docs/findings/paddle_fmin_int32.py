"""fmin and fmax of int32 compute in float32: of 16777217 and itself they are 16777216."""

import paddle

x = paddle.to_tensor([2**24 + 1], dtype="int32")
seen = paddle.fmin(x, x).item(), paddle.fmax(x, x).item()
print(seen, "expected", x.item())
assert seen == (2**24 + 1, 2**24 + 1)

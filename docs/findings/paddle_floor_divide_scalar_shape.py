"""A tensor without axes // a number has shape [1]; % and * keep the shape."""

import paddle

x = paddle.to_tensor(9)
print((x // 4).shape, "expected", (x % 4).shape)
assert list((x // 4).shape) == list((x % 4).shape) == []

"""LSTM.to(dtype=...) after a call raises: it casts a buffer that has no memory."""

# Fails with: Tensor's dimension is out of bound

import paddle

model = paddle.nn.LSTM(3, 2)
print(model(paddle.zeros([1, 4, 3]))[0].shape)
model.to(dtype="float32")
print(model(paddle.zeros([1, 4, 3]))[0].shape)

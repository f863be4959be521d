"""inner of a vector of one element and a matrix keeps the axis that it sums over; of longer vectors it does not."""

import paddle

one = paddle.inner(paddle.ones([1]), paddle.ones([6, 1])).shape
three = paddle.inner(paddle.ones([3]), paddle.ones([6, 3])).shape
print(one, "expected", three)
assert list(one) == list(three) == [6]

"""conv1d_transpose with output_padding 1 and dilation 2 passes the check of its arguments and then fails inside."""

# Fails with: are inconsistent

import paddle
import paddle.nn.functional as F

x, weight = paddle.ones([1, 1, 3]), paddle.ones([1, 1, 2])
try:
    F.conv1d_transpose(x, weight, stride=2, output_padding=2)
except ValueError as error:
    print("the rule:", str(error).split("\n")[0])
y = F.conv1d_transpose(x, weight, stride=1, dilation=2, output_padding=1)  # less than the dilation: allowed
assert y.shape == [1, 1, 6]

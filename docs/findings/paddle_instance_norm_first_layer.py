"""InstanceNorm as the first layer cannot be trained: backward fails if the input needs no gradient."""

# Fails with: InstanceNormGradInferMeta can't be nullptr

import numpy as np
import paddle

layer = paddle.nn.InstanceNorm1D(3)
images = paddle.to_tensor(np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32"))
layer(images).square().sum().backward()
print(layer.scale.grad)
assert layer.scale.grad is not None

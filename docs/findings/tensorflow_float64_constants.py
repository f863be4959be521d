"""gelu and leaky_relu of float64 use constants rounded to float32."""

import math

import numpy as np
import tensorflow as tf

x = tf.constant([1.0, -1.0], tf.float64)
seen = {
    "gelu": (tf.nn.gelu(x).numpy()[0], 0.5 * (1 + math.erf(math.sqrt(0.5)))),
    "gelu (tanh)": (tf.nn.gelu(x, approximate=True).numpy()[0], 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * 1.044715))),
    "leaky_relu": (tf.nn.leaky_relu(x, 0.1).numpy()[1], -0.1),
}
for name, (value, expected) in seen.items():
    print(name, value, "expected", expected)
for name, (value, expected) in seen.items():
    assert abs(value - expected) < 1e-12, f"{name} is only accurate to float32"

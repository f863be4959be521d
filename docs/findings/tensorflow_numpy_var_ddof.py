"""tf.experimental.numpy.var with ddof=1 and no dtype raises a TypeError."""

# Fails with: Cannot convert the argument `type_value`: None

import numpy as np
import tensorflow as tf

x = np.array([[1.0, 2.0, 4.0]])
print("numpy:", np.var(x, axis=1, ddof=1))
y = tf.experimental.numpy.var(x, axis=1, ddof=1)
assert np.allclose(y.numpy(), np.var(x, axis=1, ddof=1))

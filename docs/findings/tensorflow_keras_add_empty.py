"""keras.ops.add of two tensors of shape (1, 0, 4) raises "Biases must be 1D": it takes the second for a bias."""

# Fails with: Biases must be 1D

import keras
import tensorflow as tf

x = tf.zeros([1, 0, 4])
print("tf.add:", tf.add(x, x).shape)
assert keras.ops.add(x, x).shape == (1, 0, 4)

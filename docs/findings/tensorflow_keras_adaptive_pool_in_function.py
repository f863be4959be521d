"""keras.ops.adaptive_average_pool and adaptive_max_pool to a size of 1 run eagerly, but cannot be traced."""

# Fails with: Negative dimension size

import keras
import tensorflow as tf


def model(x):
    return keras.ops.adaptive_average_pool(x, (1, 1), data_format="channels_last")


x = tf.ones([1, 6, 6, 2])
print("eager:", model(x).shape)
print("tf.function:", tf.function(model)(x).shape)

"""A grouped conv2d with bias_add runs eagerly, but not in tf.function, where both are fused into one node."""

# Fails with: grouped convolutions

import tensorflow as tf

weight, bias = tf.Variable(tf.ones([1, 1, 2, 4])), tf.Variable(tf.ones([4]))


def model(x):
    return tf.nn.bias_add(tf.nn.conv2d(x, weight, 1, "VALID"), bias)


x = tf.ones([1, 4, 4, 4])  # 4 channels, 2 groups
print("eager:", model(x).shape)
print("tf.function:", tf.function(model)(x).shape)

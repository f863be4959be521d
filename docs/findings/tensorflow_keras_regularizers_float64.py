"""Penalties L1 and L2 of Keras round their factor to float32, also with floatx float64."""

import tensorflow as tf

tf.keras.config.set_floatx("float64")
one = tf.constant([1.0], tf.float64)
seen = {penalty.__name__: float(penalty(0.1)(one)) for penalty in (tf.keras.regularizers.L1, tf.keras.regularizers.L2)}
print(seen, "expected 0.1")
assert all(abs(value - 0.1) < 1e-15 for value in seen.values())

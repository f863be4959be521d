"""keras.ops.round of float64 to tens multiplies by 0.1 rounded to float32: 88 becomes 89.99999866."""

import tensorflow as tf

seen = float(tf.keras.ops.round(tf.constant(88.0, tf.float64), -1))
print(seen, "expected 90")
assert abs(seen - 90) < 1e-9

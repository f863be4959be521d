"""sign of many subnormal float32 values returns their absolute value: neither -1 nor 0 nor 1."""

import tensorflow as tf

for count in (1, 16):
    y = tf.math.sign(tf.constant([-1e-39] * count, tf.float32)).numpy()
    print(count, "elements: sign(-1e-39) =", y[0])
    assert y[0] in (-1, 0), "sign is documented as -1, 0 or 1"

"""What the documentation of TensorFlow leaves open."""

from __future__ import annotations

# Operators that may make anything of NaN, with the source.
NAN_UNSPECIFIED = {
    **dict.fromkeys(
        ("max_pool", "adaptive_max_pool", "scatter"),
        "tf.nn.max_pool leaves the order of comparisons, and so what NaN does, to the implementation (XLA operation "
        "semantics: ReduceWindow, Scatter)",
    ),
    **dict.fromkeys(("xlogy", "xlog1py"), "tf.math.xlogy and xlog1py document 0 where x is 0, whatever y is"),
    "softshrink": "keras.activations.soft_shrink documents 0 for what is neither above nor below the threshold",
}

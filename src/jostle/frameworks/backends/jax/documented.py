"""What the documentation of JAX leaves open."""

from __future__ import annotations

# Operators that may make anything of NaN, with the source.
NAN_UNSPECIFIED = dict.fromkeys(
    ("max_pool", "adaptive_max_pool", "scatter"),
    "lax.reduce_window leaves the order of comparisons, and so what NaN does, to the implementation (XLA operation "
    "semantics: ReduceWindow, Scatter)",
)

"""What the documentation of PaddlePaddle leaves open."""

from __future__ import annotations

# Operators that may make anything of NaN, with the source.
NAN_UNSPECIFIED = dict.fromkeys(
    (
        *("max", "min", "max_pool", "adaptive_max_pool", "relu", "relu6", "clip", "scatter"),
        *(
            "squared_relu",
            "reglu",
            "crelu",
            "hardtanh",
            "clip_between",
            "lp_norm",
            "pairwise_distance",
            "dist",
            "cdist",
            "matrix_norm",
        ),
    ),
    "paddle.max, paddle.nn.functional.max_pool2d and relu document max(x, 0) without a word on NaN; paddle.fmax "
    "documents the other behaviour only for itself",
)

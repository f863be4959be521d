"""What the ONNX operator specification leaves open, for ONNX Runtime and OpenVINO promise nothing beyond it."""

from __future__ import annotations

# Operators that may make anything of NaN, with the source.
NAN_UNSPECIFIED = dict.fromkeys(
    (
        *("relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "hardsigmoid", "hardswish"),
        *("softshrink", "hardshrink", "clip", "sign", "max", "min", "maximum", "minimum", "logsumexp", "scatter"),
        *("hardsigmoid_slope", "hardtanh", "squared_relu", "reglu", "crelu", "clip_between", "lp_norm", "matrix_norm"),
        *("embedding_bag", "rnn_from", "gru_from", "lstm_from", "lstm_peephole"),
        *("max_pool", "adaptive_max_pool", "lp_pool", "l2_normalize", "rnn", "gru", "lstm"),
    ),
    "The ONNX operator specification (onnx.ai/onnx/operators: Max, Min, Relu, Clip, MaxPool, ReduceMax, GRU) says "
    "nothing of NaN, and ONNX Runtime and OpenVINO promise nothing beyond it",
)

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

# Operators that may make anything of infinities too.
INFINITE_UNSPECIFIED = dict.fromkeys(
    ("rnn", "gru", "lstm", "rnn_from", "gru_from", "lstm_from", "lstm_peephole"),
    'The ONNX operator specification (RNN, GRU, LSTM: initial_h, "assumed to be 0" if it is not given) does not say '
    "that this 0 is multiplied by the weights, which is NaN if they are infinite",
)

SOFTMAX = (
    "The ONNX operator specification (Softmax: Exp(input) / ReduceSum(Exp(input))) makes 0 of what is finite beside "
    "inf, and NaN of it where the maximum is subtracted first, as is usual and not excluded"
)
# Operators that may make anything of inf, but not of -inf; and the reverse.
POSITIVE_INFINITE_UNSPECIFIED = dict.fromkeys(("softmax", "log_softmax"), SOFTMAX)
NEGATIVE_INFINITE_UNSPECIFIED = {"softmin": SOFTMAX}

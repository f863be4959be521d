"""The lowerings that tests/laws hold to their laws, and what of the installed releases the laws must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import Lowering
from jostle.frameworks.operators.all_operators import OPERATORS

# Of every theme some, for backends that take long for a gradient.
DIFFERENTIATED = (
    *("tanh", "mul", "max", "softmax", "topk_values", "pad", "take", "conv", "max_pool", "layer_norm", "grid_sample"),
    *("linear", "rnn"),
)


@dataclass(frozen=True)
class Backend:
    """A lowering, and what the laws must know of it."""

    name: str
    draws: int  # of every operator are run, all but the first in a slow test
    missing: str = ""  # operators that it has nothing for
    apart: bool = False  # runs in a process of its own: others fork, which one that has loaded it must not
    specials: float = 0.0  # the share of inputs with values that kernels often get wrong
    # What the installed release raises, or gives in another dtype: findings, and no mistakes of ours.
    raises: Mapping[str, str] = field(default_factory=dict)
    widened: str = ""
    differentiated: Sequence[str] = DIFFERENTIATED
    gradient_draws: int = 1
    undifferentiated: str = ""  # operators whose gradients it does not take, or that are better not run
    needs_floats: bool = False  # has no gradient where no output is of floats
    without_values: Sequence[str] = ()  # cases of VALUES that it lacks
    unlike: str = ""  # optimisers that its library has by another formula
    narrow: str = ""  # optimisers and operators that round settings of float64 to float32

    @property
    def lowering(self) -> Lowering:
        return lowering_named(self.name)


BACKENDS = (
    Backend(
        "torch",
        3,
        "reduce_no_axes local_response_norm_after lstm_peephole dropout_downscaled",
        specials=0.3,
        raises={
            **dict.fromkeys(("avg_pool", "sum_pool"), "smaller than kernel size"),  # avg_pool3d counts no padding
            **dict.fromkeys(("symmetric_eigenvalues", "singular_values"), "non-finite"),
            "cholesky_of_gram": "positive-definite",  # which rounding makes of large numbers
        },
        differentiated=tuple(OPERATORS),
        gradient_draws=3,
        # torch 2.13 writes outside its memory in the backward pass of windows that see nothing but padding.
        undifferentiated="max_pool avg_pool sum_pool heaviside fake_quantize symmetric_eigenvalues singular_values",
        unlike="rmsprop_in_root adagrad_in_root adamax_on_maximum adamax_on_memory",
    ),
    Backend(
        "onnxruntime",
        1,  # more where it is compared with itself unoptimised, in test_onnx_programs.py
        "expm1 log1p atan2 cummax logcumsumexp erfc erfinv lgamma digamma i0 i0e i1 i1e ndtr ndtri log_ndtr "
        "logit sinc entr xlogy xlog1py logaddexp logaddexp2 hypot floor_divide_scalar signbit frac copysign "
        "fmax fmin heaviside div_trunc gcd lcm isclose ldexp sparse_plus nansum nanmean median nanmedian "
        "quantile cummin trapezoid covariance correlation bin_counts bucketize inner kron tensordot bilinear "
        "cross cdist dist cosine_similarity pairwise_distance trace log_abs_det inverse matrix_exp "
        "cholesky_of_gram symmetric_eigenvalues singular_values matrix_power solve triangular_solve "
        "index_add scatter_mean diagonal diag_embed rot90 roll_all im2col sum_pool dropout_all "
        "dropout_downscaled",
        raises={"conv_transpose": "output_padding"},  # that only the dilation allows
        narrow="dropout_distance",
        without_values=("softsign", "hardswish", "avg_pool that rounds up", "instance_norm", "resize"),
    ),
    Backend(
        "pytensor",
        1,
        "fmod left_shift right_shift cummax logcumsumexp conv conv_transpose max_pool avg_pool lp_pool "
        "adaptive_avg_pool adaptive_max_pool local_response_norm resize grid_sample resize_antialias "
        "affine_grid rnn lstm gru i0e i1e ndtr ndtri log_ndtr logit sinc entr xlogy xlog1py logaddexp2 hypot "
        "signbit round_decimals copysign fmax fmin heaviside div_floor gcd lcm ldexp sparse_plus swiglu "
        "geglu reglu fake_quantize matmul_integer nansum nanmean lp_norm reduce_no_axes median nanmedian "
        "lower_median quantile kth_value cummin trapezoid covariance correlation bin_counts inner bilinear "
        "cross cdist dist cosine_similarity pairwise_distance symmetric_eigenvalues matrix_norm scatter_mean "
        "segment_sum reverse_sequence diag_embed rot90 roll_all local_response_norm_after sliding_window "
        "im2col sum_pool max_pool_indices max_unpool rnn_from lstm_from gru_from lstm_peephole "
        "dropout_identity dropout_all dropout_downscaled dropout_distance dropout_share",
        raises={"cast": ""},
        widened="var std",
        without_values=(
            *("cumsum of others", "cumsum of others from the end", "max_pool", "avg_pool that rounds up", "resize"),
        ),
    ),
    Backend(
        "jax",
        4,
        "affine_grid scatter_mean max_pool_indices max_unpool gru_from lstm_peephole dropout_identity "
        "dropout_all dropout_downscaled dropout_distance dropout_share",
        # Flax has dropout, not JAX
        apart=True,
        unlike="adagrad adamax_on_maximum adamax_on_memory",
    ),
    Backend(
        "tensorflow",
        1,
        "lp_pool grid_sample affine_grid ndtr log_ndtr logit entr copysign fmax fmin div_trunc ldexp "
        "nanmedian lower_median kth_value covariance correlation bin_counts cosine_similarity matrix_power "
        "scatter_mean local_response_norm_after sum_pool max_pool_indices max_unpool rnn_from lstm_from "
        "gru_from lstm_peephole dropout_downscaled",
        apart=True,
        # Keras 3.15 raises on windows that reach the end of an image.
        raises=dict.fromkeys(("adaptive_avg_pool", "adaptive_max_pool"), "Negative dimension size"),
        needs_floats=True,
        without_values=("avg_pool that rounds up", "resize"),
        unlike="rmsprop adagrad adamax adamax_on_memory",
        narrow="sgd adam adamw adagrad_in_root adamax_on_maximum",
    ),
    Backend(
        "paddle",
        3,
        "fmod one_hot rms_norm reduce_no_axes resize_antialias exp2 erfc ndtr ndtri log_ndtr entr xlogy "
        "xlog1py logaddexp2 "
        "div_trunc squareplus sparse_plus matmul_integer segment_sum reverse_sequence "
        "local_response_norm_after rnn_from lstm_from gru_from lstm_peephole",
        apart=True,
        # Paddle 3.3, where the output padding is as large as the stride, and of tensors without axes
        raises={"conv_transpose": "im2col", "dropout_downscaled": "num_col_dims"},
        needs_floats=True,
        undifferentiated="rnn",  # none of the weights that a recurrent layer was given
        without_values=("cumsum of others", "cumsum of others from the end", "resize"),
        unlike="rmsprop adagrad_in_root adamax adamax_on_maximum",
        narrow="dropout_distance dropout_downscaled sgd adamw rmsprop_in_root adagrad adadelta adamax_on_memory",
    ),
)

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
        "dropout_downscaled",
        specials=0.3,
        raises={"avg_pool": "smaller than kernel size"},  # avg_pool3d does not count the padding
        differentiated=tuple(OPERATORS),
        gradient_draws=3,
        # torch 2.13 writes outside its memory in the backward pass of windows that see nothing but padding.
        undifferentiated="max_pool avg_pool",
        unlike="rmsprop_in_root adagrad_in_root adamax_on_maximum adamax_on_memory",
    ),
    Backend(
        "onnxruntime",
        1,  # more where it is compared with itself unoptimised, in test_onnx_programs.py
        "atan2 cummax expm1 log1p logcumsumexp dropout_all dropout_downscaled",
        raises={"conv_transpose": "output_padding"},  # that only the dilation allows
        narrow="dropout_distance",
        without_values=("softsign", "hardswish", "avg_pool that rounds up", "instance_norm", "resize"),
    ),
    Backend(
        "pytensor",
        1,
        "fmod left_shift right_shift cummax logcumsumexp conv conv_transpose max_pool avg_pool lp_pool "
        "adaptive_avg_pool adaptive_max_pool local_response_norm resize grid_sample rnn lstm gru "
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
        "dropout_identity dropout_all dropout_downscaled dropout_distance dropout_share",  # Flax has dropout, not JAX
        apart=True,
        unlike="adagrad adamax_on_maximum adamax_on_memory",
    ),
    Backend(
        "tensorflow",
        1,
        "lp_pool grid_sample dropout_downscaled",
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
        "fmod one_hot rms_norm",
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

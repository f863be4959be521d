"""Reads the trained weights that ship inside the package."""

from importlib.resources import files

from safetensors.torch import load
from torch import Tensor


def shipped_weights(name: str) -> dict[str, Tensor]:
    """The tensors of one shipped network; what is stored in 16 bit is given in 32."""
    stored = load(files("jostle.zoo").joinpath("data", f"{name}.safetensors").read_bytes())
    return {key: tensor.float() if tensor.is_floating_point() else tensor for key, tensor in stored.items()}

"""What a Keras model takes and gives, whatever structure it has: inputs in their order, outputs by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def called(model: Any, given: Sequence[Any]) -> Any:
    """What the model returns for its inputs in their order."""
    import keras

    return model(keras.tree.pack_sequence_as(_structure(model, "input"), list(given)), training=False)


def symbolic_outputs(model: Any) -> dict[str, Any]:
    """By name, tensors without values that tell shapes and types."""
    return named_outputs(model, _structure(model, "output"))


def named_outputs(model: Any, returned: Any) -> dict[str, Any]:
    """What a model returns by its own names: those of a dict, else of the layers that give it."""
    import keras

    if isinstance(returned, Mapping):
        return {str(name): value for name, value in returned.items()}
    flat = keras.tree.flatten(returned)
    names = getattr(model, "output_names", None) or [model.layers[-1].name]
    unique = len(set(names)) == len(flat)
    return dict(zip(names if unique else map(str, range(len(flat))), flat, strict=True))


def _structure(model: Any, which: str) -> Any:
    """Inputs or outputs as the model takes or gives them: of a sequential one, a tensor alone."""
    import keras

    if isinstance(model, keras.Sequential):
        return getattr(model, f"{which}s")[0]
    return getattr(model, which)

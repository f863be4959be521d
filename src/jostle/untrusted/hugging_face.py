"""What must be true of a stranger's folder of `config.json` and safetensors before transformers opens it.

transformers makes a network of its own by the configuration, and fills it. But a configuration may also ask for Python
beside it or on the hub, for kernels and backbones that are downloaded, and for weights elsewhere; these are refused.
Python files and pickled weights in the folder are not used: whoever loads it asks for safetensors and local files only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.untrusted.files import named_file, read_bounded
from jostle.untrusted.json_text import OF_MODELS, parsed_json
from jostle.untrusted.tensor_files import check_safetensors

JSON_LIMIT = 64 * 2**20  # bytes
SHARD_LIMIT = 10_000
NESTING_LIMIT = 50
CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
ALSO_READ = ("generation_config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
# Python that transformers would import, from the folder or from the hub.
CODE = ("auto_map", "custom_pipelines", "trust_remote_code", "custom_generate")
# Weights or programs that it would look for elsewhere.
FETCHING = ("transformers_weights", "use_pretrained_backbone", "use_kernels", "kernel_config")
CHOICES = re.compile(r"_?\w*implementation(_internal)?|attn_\w+", re.ASCII)  # with a slash, kernels on the hub
WORD = re.compile(r"[\w.|-]*", re.ASCII)
NUMBERS = re.compile(
    r"(torch\.)?(auto|bool|(b?float|u?int|complex)\d{1,3}\w*)", re.ASCII
)  # torch is asked for the name


@dataclass(frozen=True)
class CheckedFolder:
    """What is known of a folder that transformers may open."""

    architectures: tuple[str, ...]
    quantised: str | None  # the method, which needs a library of its own


def checked_hugging_face(folder: Path) -> CheckedFolder:
    """What transformers would find in the folder; ValueError says why it may not open it."""
    if not folder.is_dir() or not (folder / CONFIG).is_file():
        raise ValueError(f"it is not a folder with a {CONFIG}")
    for name in ADAPTERS:
        if (folder / name).exists() or (folder / name).is_symlink():
            raise ValueError(f"it is an adapter ({name}) of a model elsewhere: merge them and save the whole model")
    config = _json(folder, CONFIG)
    for name in ALSO_READ:
        if (folder / name).exists() or (folder / name).is_symlink():
            _check_wishes(_json(folder, name), name)
    _check_wishes(config, CONFIG)
    architectures = config.get("architectures") or []
    if not isinstance(config.get("model_type"), str) or not isinstance(architectures, list):
        raise ValueError(f"its {CONFIG} does not say what kind of model it is: model_type is missing")
    for path in _weights(folder):
        _check_weights(path)
    return CheckedFolder(tuple(map(str, architectures)), _quantised(config))


def _json(folder: Path, name: str) -> dict[str, Any]:
    content = parsed_json(read_bounded(named_file(folder, name), JSON_LIMIT), OF_MODELS)
    if not isinstance(content, dict):
        raise ValueError(f"its {name} is no JSON object")
    return content


def _check_wishes(config: dict[str, Any], name: str) -> None:
    """Nothing in a configuration, however deep, asks for more than a network of transformers' own."""
    for key, value in _items(config):
        if key in CODE and value:
            raise ValueError(f"its {name} asks for Python code by {key!r}, which is not run")
        if key in FETCHING and value:
            raise ValueError(f"its {name} asks for other files by {key!r}: save the model as a whole")
        if key.startswith("__") or (key in ("model_type", "architectures") and not _is_word(value)):
            raise ValueError(f"its {name} has the {key[:100]!r} {str(value)[:100]!r}, which cannot be")
        if key in ("dtype", "torch_dtype") and isinstance(value, str) and not NUMBERS.fullmatch(value):
            raise ValueError(f"its {name} has the {key} {value[:100]!r}, which is no kind of numbers")
        if CHOICES.fullmatch(key) and not _is_word(value):
            raise ValueError(f"its {name} asks for the kernels {str(value)[:100]!r} by {key!r}, which is code")


def _items(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    waiting: list[tuple[Any, int]] = [(config, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > NESTING_LIMIT:
            raise ValueError(f"its configuration is nested more than {NESTING_LIMIT} deep")
        if isinstance(value, dict):
            yield from value.items()
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            waiting.extend((one, depth + 1) for one in inner)


def _is_word(value: Any) -> bool:
    """A plain name, a number or nothing, or a list or dict of these."""
    if isinstance(value, dict | list):
        return all(map(_is_word, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, str) or WORD.fullmatch(value) is not None


def _quantised(config: dict[str, Any]) -> str | None:
    match config.get("quantization_config"):
        case {"quant_method": str() as method}:
            return method[:100]
        case None | {}:
            return None
    return "unknown"


def _weights(folder: Path) -> Iterator[Path]:
    """One file, or the parts that an index names."""
    if (folder / WEIGHTS).is_file():
        yield named_file(folder, WEIGHTS)
    elif (folder / INDEX).is_file():
        yield from (named_file(folder, name) for name in _parts(_json(folder, INDEX)))
    elif any(found for pattern in PICKLES for found in folder.glob(pattern)):
        raise ValueError("its weights are pickled: load it where you trust it, and save_pretrained writes safetensors")
    else:
        raise ValueError(f"it has no {WEIGHTS}; save the model with save_pretrained")


def _parts(index: dict[str, Any]) -> list[str]:
    match index.get("weight_map"):
        case dict() as places if all(isinstance(one, str) for one in places.values()) and places:
            names = sorted(set(places.values()))
        case _:
            raise ValueError(f"its {INDEX} does not say where weights are")
    if len(names) > SHARD_LIMIT or not all(name.endswith(".safetensors") for name in names):
        raise ValueError(f"its {INDEX} names other files than safetensors, or more than {SHARD_LIMIT}")
    return names


def _check_weights(path: Path) -> None:
    try:
        check_safetensors(path)
    except ValueError as error:
        raise ValueError(f"{path.name[:100]}: {error}") from error

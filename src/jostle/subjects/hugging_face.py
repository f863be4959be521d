"""Folders of `config.json` and safetensors, as transformers writes them, as subjects."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.subjects.silence import silenced
from jostle.subjects.subject import Loading, Subject, SubjectKind, TakenInput
from jostle.subjects.torch_module import of_module
from jostle.untrusted.files import refusing
from jostle.untrusted.hugging_face import CONFIG, CheckedFolder, checked_hugging_face

MISSING = "needs transformers: pip install 'jostle[transformers]'"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}  # what its parts read when they are imported
NAMED = 3  # names given as examples


def _load(path: Path, loading: Loading) -> Subject:
    with refusing(path):
        checked = checked_hugging_face(path)
    if checked.quantised is not None:
        raise ModelRefused(
            f"{path} is quantised by {checked.quantised}, for which there is no support: save it in float"
        )
    with silenced():
        module = _filled(path, _class_of(path, checked))
    module.config.use_cache = False  # what it keeps for the next token is no answer
    return replace(of_module(module), taken=(_taken(module),))


def _transformers() -> Any:
    """The library, which then asks no server and shows no progress."""
    os.environ |= {name: value for name, value in OFFLINE.items() if name not in os.environ}
    try:
        import transformers
    except ImportError as error:
        raise ModelRefused(f"a folder of {CONFIG} and safetensors {MISSING}") from error
    library: Any = transformers
    library.utils.logging.disable_progress_bar()
    return library


def _class_of(path: Path, checked: CheckedFolder) -> Any:
    """The class that the configuration names, if it is a model of transformers' own."""
    library = _transformers()
    if not checked.architectures:
        return library.AutoModel
    name = checked.architectures[0]
    found = attempt(partial(getattr, library, name))
    if isinstance(found, Crash) or not isinstance(found, type) or not issubclass(found, library.PreTrainedModel):
        version = f"transformers {library.__version__}"
        raise ModelRefused(f"{path} is a {name}, which {version} does not have: update it, or give FILE.py:function")
    return found


def _filled(path: Path, kind: Any) -> Any:
    """The model with all its weights, none of them new."""
    loaded = attempt(
        partial(
            kind.from_pretrained,
            str(path.absolute()),  # a relative name could be one on the hub
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    )
    if isinstance(loaded, Crash):
        raise ModelRefused(f"{path} cannot be loaded: {loaded.error}: {loaded.message}")
    module, found = loaded
    missing = sorted(found["missing_keys"])
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        names = ", ".join(missing[:NAMED])
        raise ModelRefused(f"{path} lacks weights of {kind.__name__}: {names}{more}; save the whole model")
    return module


def _taken(module: Any) -> TakenInput:
    """What transformers calls the main input: tokens of any length, or images of the size in the configuration."""
    name = str(module.main_input_name)
    if name.endswith("ids"):
        return TakenInput(name, "int64", (None,))
    channels, size = getattr(module.config, "num_channels", None), getattr(module.config, "image_size", None)
    if not isinstance(channels, int) or size is None:
        return TakenInput(name)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return TakenInput(name, "float32", (channels, int(height), int(width)))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and (path / CONFIG).is_file()


HUGGING_FACE = SubjectKind("Hugging Face folder", _is_folder, _load)

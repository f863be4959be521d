"""From what a user names to a subject: every kind of model, and how its files and objects are told apart."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from jostle.errors import JostleWarning, ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.named_objects import find_object, names_object
from jostle.subjects.hugging_face import HUGGING_FACE
from jostle.subjects.keras_file import KERAS
from jostle.subjects.litert_file import LITERT
from jostle.subjects.onnx_file import ONNX
from jostle.subjects.openvino_file import OPENVINO
from jostle.subjects.saved_model import SAVED_MODEL
from jostle.subjects.subject import Loading, Subject, SubjectKind
from jostle.subjects.torch_exported import EXPORTED
from jostle.subjects.torch_function import FUNCTION
from jostle.subjects.torch_module import TORCH_MODULE
from jostle.subjects.torch_pickled import PICKLED, SCRIPTED, weights_alone
from jostle.subjects.twin_making import WORDS, is_drawn

# The first that recognises a file or an object loads it.
KINDS: tuple[SubjectKind, ...] = (
    *(KERAS, TORCH_MODULE, EXPORTED, SCRIPTED, PICKLED),
    *(ONNX, OPENVINO, LITERT, SAVED_MODEL, HUGGING_FACE, FUNCTION),
)
FORMATS = ".onnx, .keras, .h5, .tflite, .xml, .pt2, a SavedModel or Hugging Face folder"


def _twins(kinds: Sequence[SubjectKind]) -> dict[str, str]:
    """A line on every twin: what it does, and of which models it is made."""
    meanings: dict[str, dict[str, list[str]]] = {}
    for kind in kinds:
        for name, meaning in kind.twins.items():
            families = meanings.setdefault(name, {}).setdefault(meaning, [])
            families += {kind.family or kind.name} - {*families}
    return {
        name: "; ".join(f"{meaning.rstrip('.')} ({', '.join(families)})" for meaning, families in of_each.items())
        for name, of_each in sorted(meanings.items(), key=lambda item: WORDS.index(item[0]))
    }


TWINS: Mapping[str, str] = _twins(KINDS)


def load(spec: str, trusted: bool = False, weights: str | None = None, how: Loading | None = None) -> Subject:
    """The model behind `FILE.py:function`, `package.module:function` or a file.

    Weights from a file are for a model that Python code builds. What a file could execute needs consent.
    """
    how = how or Loading(trusted)
    if names_object(spec):
        subject = _python_subject(spec, how)
        return subject if weights is None else subject.with_weights(Path(weights))
    if weights is not None:
        raise ModelRefused(f"--weights {weights} is for a model given as FILE.py:function: {spec} brings its own")
    kind = kind_of(spec, how.engine)
    assert kind.load is not None  # it is one that loads files
    return kind.load(Path(spec), how)


def kind_of(spec: str, engine: str | None = None) -> SubjectKind:
    """The kind of model that a file is, if the engine runs it."""
    path = Path(spec)
    if not path.exists():
        raise ModelRefused(f"model {spec} does not exist: give a model file or FILE.py:function")
    fitting = _recognising(path, KINDS) or _recognising(path, _added())
    for kind in fitting:
        if engine is None or engine in kind.engines:
            return kind
    if fitting:
        able = [engine for kind in fitting for engine in kind.engines]
        fix = f"choose from {', '.join(able)}" if able else "leave it out"
        raise ModelRefused(f"--engine {engine} does not run {spec}: {fix}")
    if path.suffix == ".safetensors":
        raise ModelRefused(weights_alone(path))
    if path.suffix == ".py":
        raise ModelRefused(f"{spec} names no function: add the one that returns the model, {spec}:function")
    raise ModelRefused(f"{spec} is no format that can be fuzzed: give {FORMATS} or FILE.py:function")


def _recognising(path: Path, among: Sequence[SubjectKind]) -> list[SubjectKind]:
    return [kind for kind in among if kind.load is not None and kind.recognises(path)]


def kinds() -> Iterator[SubjectKind]:
    """Every kind of model: ours, those that installed packages add in the group `jostle.subjects`, and functions.

    Packages are imported only once none of ours before them will do.
    """
    yield from (kind for kind in KINDS if kind is not FUNCTION)
    yield from _added()
    yield FUNCTION


@dataclass(frozen=True)
class AddedKind:
    """What an entry point of a package gives."""

    point: EntryPoint
    found: SubjectKind | str  # why it gives no kind of model

    @staticmethod
    def of(point: EntryPoint) -> AddedKind:
        found = attempt(point.load)
        if isinstance(found, SubjectKind):
            return AddedKind(point, found)
        why = f"{found.error}: {found.message}" if isinstance(found, Crash) else f"a {type(found).__name__}"
        return AddedKind(point, f"gives no SubjectKind ({why})")


def added_kinds() -> list[AddedKind]:
    """What packages add, also what is broken."""
    return [AddedKind.of(point) for point in entry_points(group="jostle.subjects")]


@cache
def _added() -> tuple[SubjectKind, ...]:
    """What packages add; one that is broken is left out, with a warning."""
    added = added_kinds()
    for one in added:
        if isinstance(one.found, str):
            text = f"the entry point {one.point.name} of jostle.subjects {one.found}: it is left out"
            warnings.warn(text, JostleWarning, stacklevel=2)
    return tuple(one.found for one in added if isinstance(one.found, SubjectKind))


def subject_of(found: object) -> Subject | None:
    """A Python object as a subject, None if no kind of model is such an object."""
    if isinstance(found, Subject):
        return found
    return next((subject for kind in kinds() if (subject := kind.wrap(found)) is not None), None)


def is_file(spec: str) -> bool:
    """True of a model's name that is neither Python that the user names nor a twin such as int8 or weights16:50%."""
    return not (names_object(spec) or spec in WORDS or is_drawn(spec))


def _python_subject(spec: str, how: Loading) -> Subject:
    try:
        found = find_object(spec)
    except UsageError as error:
        raise ModelRefused(str(error)) from error
    ready = isinstance(found, Subject) or any(kind.wrap(found) is not None for kind in kinds() if kind is not FUNCTION)
    if not ready and callable(found) and not _required_parameters(found):
        found = attempt(found)
        if isinstance(found, Crash):
            raise ModelRefused(f"{spec} raised {found.error} in {found.where}: {found.message}")
    if isinstance(found, Path):
        return load(str(found), how=how)
    subject = subject_of(found)
    if subject is None:
        kind = type(found).__name__
        raise ModelRefused(
            f"{spec} is a {kind}: it must be a torch module, a Keras model, a function of a batch, a model file, or "
            f"return one"
        )
    return subject


def _required_parameters(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ["inputs"]  # a built-in function without a signature, such as torch.relu
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
